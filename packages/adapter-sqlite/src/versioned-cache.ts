import type { Database } from 'better-sqlite3'

/** Values made from rows that are read all the time and hardly ever written. */
export type VersionedCache<Key extends string | number, T> = {
  /** What `load` gave for this key, if nothing can have been written since, or in this turn of the event loop. */
  get(key: Key, load: () => T): T
  /** To be called within each transaction of this connection that writes those rows: others' are noticed. */
  clear(): void
}

const MOST_KEYS = 10_000

/**
 * `data_version` differs once another connection has committed anything at all, be it of another process. Within a transaction that is asked
 * each time, so nothing is behind. Elsewhere once for all that is read in one turn of the event loop: to ask takes a lock of the file.
 */
export function versionedCache<Key extends string | number, T>(
  db: Database,
): VersionedCache<Key, T> {
  const version = db.prepare<[], number>('pragma data_version').pluck()
  const kept = new Map<Key, T & {}>()
  let keptAt: number | undefined
  let seenThisTurn: number | undefined
  /** What is seen now may yet be rolled back. */
  let isWriting = false

  const endTurn = (): void => void (seenThisTurn = undefined)

  function versionNow(): number | undefined {
    if (db.inTransaction) return version.get()
    if (seenThisTurn === undefined) setImmediate(endTurn)
    return (seenThisTurn ??= version.get())
  }

  return {
    get(key, load) {
      if (isWriting) return load()
      const now = versionNow()
      if (now !== keptAt) kept.clear()
      keptAt = now
      const known = kept.get(key)
      if (known !== undefined) return known
      const value = load()
      if (kept.size >= MOST_KEYS) kept.clear()
      if (value !== undefined && value !== null) kept.set(key, value)
      return value
    },
    clear() {
      kept.clear()
      isWriting = true
      // The committer's transactions are over, one way or the other, before anything else has its turn.
      queueMicrotask(() => void (isWriting = false))
    },
  }
}
