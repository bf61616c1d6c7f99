import type { Sealed } from '@org/agent-messaging-core/storage'
import type { Crypto } from '@org/agent-messaging-core/runtime'

/**
 * Behaves as a Crypto does, deterministically and without any safety: equal inputs have equal
 * digests and unequal ones do not, sealed text is hidden and opens only with the
 * same master key, or one of the others, and context, random bytes repeat in every run. Its
 * digests are its own: to check a signature with other software, use the Crypto of `./node`.
 */
export function fakeCrypto(
  masterKey = 'fake master key',
  otherKeys: readonly string[] = [],
): Crypto {
  let drawn = 0
  const tagOf = (key: string, plain: string, context: string): string =>
    toHex(digest('seal', key, context, plain))
  const macOf = (key: string, purpose: string, data: string): string =>
    toBase64Url(digest('mac', key, purpose, data))
  const seal: Crypto['seal'] = (plain, context) =>
    `fake.${tagOf(masterKey, plain, context)}.${toBase64Url(utf8(plain))}` as Sealed
  const unseal: Crypto['unseal'] = (sealed, context) => {
    const [version, tag, encoded] = sealed.split('.')
    const plain = encoded === undefined ? undefined : decode(encoded)
    if (version !== 'fake' || plain === undefined) return undefined
    return [masterKey, ...otherKeys].some((key) => tag === tagOf(key, plain, context))
      ? plain
      : undefined
  }
  return {
    randomBytes: (length) =>
      Uint8Array.from({ length }, () => Math.imul(++drawn, 2_654_435_761) >>> 24),
    sha256: (data) => toHex(digest('sha256', data)),
    hmacSha256: (key, data, encoding) => {
      const code = digest('hmac', toHex(typeof key === 'string' ? utf8(key) : key), data)
      return encoding === 'hex' ? toHex(code) : toBase64(code)
    },
    mac: (purpose, data) => macOf(masterKey, purpose, data),
    isMac: (purpose, data, code) =>
      [masterKey, ...otherKeys].some((key) => code === macOf(key, purpose, data)),
    equal: (a, b) => a === b,
    seal,
    unseal,
    // Equal texts are sealed equally here: text sealed by the master key comes back as it was.
    reseal: (sealed, context) => {
      const plain = unseal(sealed, context)
      return plain === undefined ? undefined : seal(plain, context)
    },
  }
}

/** 32 bytes: FNV-1a from eight different starts. */
function digest(...parts: readonly string[]): Uint8Array {
  const data = JSON.stringify(parts)
  const words = Uint32Array.from({ length: 8 }, (_, word) => {
    let hash = 0x811c9dc5 ^ Math.imul(word + 1, 0x9e3779b1)
    for (let i = 0; i < data.length; i++) hash = Math.imul(hash ^ data.charCodeAt(i), 0x01000193)
    return hash
  })
  return new Uint8Array(words.buffer)
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const toHex = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))
const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

function decode(base64Url: string): string | undefined {
  try {
    const binary = atob(base64Url.replaceAll('-', '+').replaceAll('_', '/'))
    return new TextDecoder().decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)))
  } catch {
    return undefined
  }
}
