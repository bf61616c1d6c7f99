import type { Database } from 'better-sqlite3'

/** Values made from rows that are read all the time and hardly ever written. */
export type VersionedCache<T> = {
  /** What `load` gave for this key, if nothing can have been written since. Not to be called within a transaction. */
  get(key: string, load: () => T | undefined): T | undefined
  /** To be called with each write of this connection to those rows: others' are noticed. */
  clear(): void
}

const MOST_KEYS = 10_000

/**
 * Never behind what a look at the rows would give: `data_version` differs once another connection has committed anything at all, be
 * it of another process, and it costs a fraction of a look.
 */
export function versionedCache<T>(db: Database): VersionedCache<T> {
  const version = db.prepare<[], number>('pragma data_version').pluck()
  const kept = new Map<string, T>()
  let keptAt: number | undefined

  return {
    get(key, load) {
      const now = version.get()
      if (now !== keptAt) kept.clear()
      keptAt = now
      const known = kept.get(key)
      if (known !== undefined) return known
      const value = load()
      if (kept.size >= MOST_KEYS) kept.clear()
      if (value !== undefined) kept.set(key, value)
      return value
    },
    clear: () => kept.clear(),
  }
}
