import { ok, ResultAsync, type Result } from 'neverthrow'
import { Alarm } from '../pacing/alarm.js'
import type { Platform } from '../platform.js'
import type { AttemptRecord, RecordedAttempt } from '../ports/delivery-store.js'
import type { Stored, Unavailable } from '../ports/stored.js'

/** The pause between two lists. A crash repeats the attempts whose records wait. */
const PAUSE_MS = 40
const LEAST = 4
const MOST = 32

/**
 * The number of records that wait at most. The next records wait while these are written, so the
 * sender continues at the same speed.
 */
export const mostWaitingRecords = (inFlight: number): number =>
  Math.min(Math.max(LEAST, Math.floor(inFlight / 2)), MOST)

type Waiting = {
  readonly record: AttemptRecord
  readonly resolve: (recorded: Result<RecordedAttempt, Unavailable>) => void
}

/** Stores records of attempts. Collects those that need no hurry, so that commits are fewer. */
export class AttemptRecords {
  readonly #platform: Pick<Platform, 'clock' | 'storage'>
  readonly #alarm: Alarm
  #waiting: Waiting[] = []
  #storedAt = -Infinity
  #isDue = false

  constructor(platform: Pick<Platform, 'clock' | 'storage'>) {
    this.#platform = platform
    this.#alarm = new Alarm(platform.clock, () => this.flush())
  }

  /**
   * Stores the record within `PAUSE_MS`, or when this many records wait. Without `mostWaiting`,
   * stores it now and alone.
   */
  store(record: AttemptRecord, mostWaiting?: number): Stored<RecordedAttempt> {
    const { clock, storage } = this.#platform
    if (mostWaiting === undefined)
      return storage.deliveries.recordAttempts([record]).map(([one]) => one as RecordedAttempt)
    const recorded = new Promise<Result<RecordedAttempt, Unavailable>>((resolve) => {
      this.#waiting.push({ record, resolve })
    })
    const next = this.#storedAt + PAUSE_MS
    const isDue = this.#waiting.length >= mostWaiting || clock.elapsed() >= next
    if (isDue) void this.#flushSoon()
    else this.#alarm.set(next)
    return new ResultAsync(recorded)
  }

  /** Stores the records of attempts that a thread returned together in one list. */
  async #flushSoon(): Promise<void> {
    if (this.#isDue) return
    this.#isDue = true
    await Promise.resolve()
    this.#isDue = false
    this.flush()
  }

  /** Stores the records that wait. */
  flush(): void {
    const waiting = this.#waiting
    if (waiting.length === 0) return
    this.#waiting = []
    const { clock, storage } = this.#platform
    this.#storedAt = clock.elapsed()
    const records = waiting.map(({ record }) => record)
    void storage.deliveries.recordAttempts(records).then((stored) => {
      for (const [at, { resolve }] of waiting.entries())
        resolve(stored.andThen((all) => ok(all[at] as RecordedAttempt)))
    })
  }
}
