import type { Instant } from '@org/agent-messaging-core'
import { takeTokens, type BucketLevel, type TokenTake } from '@org/agent-messaging-core/storage'
import type { Database, Statement } from 'better-sqlite3'
import type { Collected } from '../database/transaction.js'

/** Token buckets of sends and published events. Reads and writes each bucket once for each transaction. */
export class SendBuckets implements Collected {
  readonly #read: Statement<[string], number>
  readonly #write: Statement<[string, number]>
  /** When the buckets that this transaction asked for are full. */
  readonly #fullTimes = new Map<string, number>()
  /** Buckets that this transaction changed. */
  readonly #changed = new Set<string>()

  constructor(db: Database) {
    this.#read = db
      .prepare<[string], number>('select full_at from send_buckets where id = ?')
      .pluck()
    this.#write = db.prepare(`
      insert into send_buckets (id, full_at) values (?, ?)
      on conflict do update set full_at = excluded.full_at`)
  }

  clear(): void {
    this.#fullTimes.clear()
    this.#changed.clear()
  }

  write(): void {
    for (const bucket of this.#changed) this.#write.run(bucket, this.#fullTimes.get(bucket) ?? 0)
  }

  /** `store` keeps the taken tokens. Call it when the message is accepted. */
  take(
    takes: readonly TokenTake[],
    now: Instant,
    count = 1,
  ): { isTaken: boolean; levels: readonly BucketLevel[]; store: () => void } {
    for (const { bucket } of takes)
      if (!this.#fullTimes.has(bucket)) this.#fullTimes.set(bucket, this.#read.get(bucket) ?? 0)
    const { isTaken, levels, fullTimes } = takeTokens(takes, this.#fullTimes, now, count)
    const store = (): void => {
      for (const [bucket, fullAt] of fullTimes) this.#set(bucket, fullAt)
    }
    // Other refusals write nothing, and so cause no sync.
    if (!isTaken)
      for (const [bucket, fullAt] of fullTimes)
        if (fullAt < (this.#fullTimes.get(bucket) ?? 0)) this.#set(bucket, fullAt)
    return { isTaken, levels, store }
  }

  #set(bucket: string, fullAt: number): void {
    this.#fullTimes.set(bucket, fullAt)
    this.#changed.add(bucket)
  }
}
