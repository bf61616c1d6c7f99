import type { Sealed } from '../domain/sealed.js'
import type { Crypto } from '../ports/platform.js'

/**
 * Behaves as a Crypto does, deterministically and without any safety: equal inputs have equal digests and unequal ones
 * do not, what is sealed does not show its text and opens only with the same master key and context, random bytes repeat
 * in every run. Its digests are its own: to check a signature with other software, use the Crypto of `./node`.
 */
export function fakeCrypto(masterKey = 'fake master key'): Crypto {
  let drawn = 0
  const tagOf = (plain: string, context: string): string => toHex(digest('seal', masterKey, context, plain))
  return {
    randomBytes: (length) => Uint8Array.from({ length }, () => Math.imul(++drawn, 2_654_435_761) >>> 24),
    sha256: (data) => toHex(digest('sha256', data)),
    hmacSha256: (key, data, encoding) => {
      const code = digest('hmac', toHex(typeof key === 'string' ? utf8(key) : key), data)
      return encoding === 'hex' ? toHex(code) : toBase64(code)
    },
    mac: (purpose, data) => toBase64Url(digest('mac', masterKey, purpose, data)),
    equal: (a, b) => a === b,
    seal: (plain, context) => `fake.${tagOf(plain, context)}.${toBase64Url(utf8(plain))}` as Sealed,
    unseal: (sealed, context) => {
      const [version, tag, encoded] = sealed.split('.')
      const plain = encoded === undefined ? undefined : decode(encoded)
      return version === 'fake' && plain !== undefined && tag === tagOf(plain, context) ? plain : undefined
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
const toHex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))
const toBase64Url = (bytes: Uint8Array): string => toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

function decode(base64Url: string): string | undefined {
  try {
    const binary = atob(base64Url.replaceAll('-', '+').replaceAll('_', '/'))
    return new TextDecoder().decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)))
  } catch {
    return undefined
  }
}
