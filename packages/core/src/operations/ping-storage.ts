import type { Stored } from '../ports/stored.js'
import type { Platform } from '../platform.js'

/**
 * Checks that the storage can be read and written. A check costs a commit and needs no permission,
 * so concurrent calls share one.
 */
export function pingStorage({ storage }: Platform): () => Stored<void> {
  let underWay: Stored<void> | undefined
  const ended = <T>(answer: T): T => {
    underWay = undefined
    return answer
  }
  return () => (underWay ??= storage.ping().map(ended).mapErr(ended))
}
