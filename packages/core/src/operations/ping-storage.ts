import type { Stored } from '../ports/stored.js'
import type { Platform } from '../platform.js'

export function pingStorage({ storage }: Platform): () => Stored<void> {
  let underWay: Stored<void> | undefined
  const ended = <T>(answer: T): T => {
    underWay = undefined
    return answer
  }
  return () => (underWay ??= storage.ping().map(ended).mapErr(ended))
}
