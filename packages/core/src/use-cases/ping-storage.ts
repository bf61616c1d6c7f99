import type { Stored } from '../ports/storage.js'
import type { Deps } from './deps.js'

/**
 * Whether the storage can be read and written now. That costs a commit, and anybody may ask: so whoever asks while one is under way gets
 * its answer, and there are never two.
 */
export function pingStorage({ storage }: Pick<Deps, 'storage'>): () => Stored<void> {
  let underWay: Stored<void> | undefined
  const ended = <T>(answer: T): T => {
    underWay = undefined
    return answer
  }
  return () => (underWay ??= storage.ping().map(ended).mapErr(ended))
}
