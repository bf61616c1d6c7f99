const encoder = new TextEncoder()

/** Returns a hash of 32 bits, the same in every process: FNV-1a. Not for secrets. */
export function textHash(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of encoder.encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash
}
