import type { Stored } from '../ports/stored.js'
import type { Platform } from '../platform.js'

/**
 * Whether the storage can be read and written now. That costs a commit, and anybody may ask: so whoever asks while one is under way gets
 * its answer, and there are never two.
 */
export function pingStorage({ storage }: Platform): () => Stored<void> {
  let underWay: Stored<void> | undefined
  const ended = <T>(answer: T): T => {
    underWay = undefined
    return answer
  }
  return () => (underWay ??= storage.ping().map(ended).mapErr(ended))
}
