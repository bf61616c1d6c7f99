import type { Platform } from '../platform.js'

const CODE_BYTES = 32
const CODE = new RegExp(`^[\\da-f]{${CODE_BYTES * 2}}$`)

/** Returns a secret for a URL. */
export const newCode = (randomBytes: Platform['crypto']['randomBytes']): string =>
  Array.from(randomBytes(CODE_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Tells whether `newCode` can have made the text. */
export const isCode = (text: string): boolean => CODE.test(text)

/**
 * Returns a one-time link to the message's question, with the digest of its token. Returns
 * undefined if the service has no public URL. The storage has only the digest.
 */
export function newInputLink(
  { crypto, publicUrl = () => undefined }: Pick<Platform, 'crypto' | 'publicUrl'>,
  messageId: string,
): { readonly inputUrl: string; readonly linkDigest: string } | undefined {
  const base = publicUrl()?.replace(/\/+$/, '')
  if (base === undefined) return undefined
  const token = newCode(crypto.randomBytes)
  return {
    inputUrl: `${base}/inputs/${messageId}/${token}`,
    linkDigest: crypto.sha256(token),
  }
}
