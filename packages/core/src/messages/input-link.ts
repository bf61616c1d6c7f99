import type { Platform } from '../platform.js'

const TOKEN_BYTES = 32

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
  const bytes = crypto.randomBytes(TOKEN_BYTES)
  const token = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return {
    inputUrl: `${base}/inputs/${messageId}/${token}`,
    linkDigest: crypto.sha256(token),
  }
}
