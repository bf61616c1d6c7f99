/** Returns a hash of 32 bits, the same in every process: FNV-1a. Not for secrets. */
export function textHash(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text)
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0
  return hash
}
