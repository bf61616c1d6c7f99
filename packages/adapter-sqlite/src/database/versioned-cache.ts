import type { Database } from 'better-sqlite3'

/** 1,000 projects with ten webhooks each have more than 10,000 of them. */
const MOST_KEYS = 50_000

/**
 * Caches values made from rows that are read often and rarely written.
 *
 * SQLite's `data_version` changes when another connection commits, also in another process. Inside
 * a transaction the cache reads it each time. Outside, the cache reads it once per turn of the
 * event loop, because reading it takes a lock of the file.
 */
export class VersionedCache<Key extends string | number, T> {
  readonly #db: Database
  readonly #readVersion: () => number | undefined
  readonly #values = new Map<Key, T & {}>()
  /** The version of the values. */
  #version: number | undefined
  /** The version that was read in this turn of the event loop. */
  #versionThisTurn: number | undefined
  /** True while this connection writes rows that can still be rolled back. */
  #isWriting = false

  constructor(db: Database) {
    const version = db.prepare<[], number>('pragma data_version').pluck()
    this.#db = db
    this.#readVersion = () => version.get()
  }

  /** Returns the value for the key, from the cache or from `load`. */
  get(key: Key, load: () => T): T {
    if (this.#isWriting) return load()
    const version = this.#currentVersion()
    if (version !== this.#version) this.#values.clear()
    this.#version = version
    const known = this.#values.get(key)
    if (known !== undefined) return known
    const value = load()
    if (this.#values.size >= MOST_KEYS) this.#values.clear()
    if (value !== undefined && value !== null) this.#values.set(key, value)
    return value
  }

  /** Empties the cache. Call it in each transaction of this connection that writes the rows. */
  clear(): void {
    this.#values.clear()
    this.#isWriting = true
    // The committer ends its transaction before the next microtask.
    queueMicrotask(() => {
      this.#isWriting = false
    })
  }

  #currentVersion(): number | undefined {
    if (this.#db.inTransaction) return this.#readVersion()
    if (this.#versionThisTurn === undefined) setImmediate(this.#endTurn)
    this.#versionThisTurn ??= this.#readVersion()
    return this.#versionThisTurn
  }

  readonly #endTurn = (): void => {
    this.#versionThisTurn = undefined
  }
}
