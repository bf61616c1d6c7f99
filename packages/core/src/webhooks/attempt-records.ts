import { success, type PortResult } from '../ports/port-result.js'
import { Alarm } from '../pacing/alarm.js'
import type { Platform } from '../platform.js'
import type { AttemptRecord, RecordedAttempt } from '../ports/delivery-store.js'
import type { Stored, Unavailable } from '../ports/stored.js'

/**
 * The pause between two lists. A crash repeats the attempts whose records wait, here or as results
 * in the webhook thread.
 */
const PAUSE_MS = 40

type RecordsPlatform = Pick<Platform, 'clock' | 'policy' | 'storage'>
type Waiting = {
  readonly record: AttemptRecord
  readonly resolve: (recorded: Awaited<Stored<RecordedAttempt>>) => void
}

/** Stores records of attempts. Collects those that need no hurry, so that commits are fewer. */
export class AttemptRecords {
  readonly #platform: RecordsPlatform
  readonly #alarm: Alarm
  #waiting: Waiting[] = []
  #storedAt = -Infinity
  #isDue = false

  constructor(platform: RecordsPlatform) {
    this.#platform = platform
    this.#alarm = new Alarm(platform.clock, () => this.flush())
  }

  /** Stores the record now and alone. */
  store(record: AttemptRecord): Stored<RecordedAttempt> {
    const { deliveries } = this.#platform.storage
    return deliveries.recordAttempts([record]).then((stored) => resultAt(stored, 0))
  }

  /** Stores the record within `PAUSE_MS`, or when as many wait as requests can be in flight. */
  collect(record: AttemptRecord): Stored<RecordedAttempt> {
    const { clock, policy } = this.#platform
    const recorded = new Promise<Awaited<Stored<RecordedAttempt>>>((resolve) => {
      this.#waiting.push({ record, resolve })
    })
    const next = this.#storedAt + PAUSE_MS
    const isFull = this.#waiting.length >= policy.deliver.maxInFlight
    if (isFull || clock.elapsed() >= next) void this.#flushSoon()
    else this.#alarm.set(next)
    return recorded
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
      for (const [at, { resolve }] of waiting.entries()) resolve(resultAt(stored, at))
    })
  }
}

const resultAt = (stored: PortResult<RecordedAttempt[], Unavailable>, at: number) =>
  stored.ok ? success(stored.value[at] as RecordedAttempt) : stored
