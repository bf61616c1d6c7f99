import { decideFailure, split, takeBatch, type Write } from './batch.js'
import type { BatchSlots } from './batch-slots.js'
import { retried } from './retry.js'

/** How writes, or reads, of one kind share batches. */
export type BatcherOptions<In, Out> = {
  /** Two inputs with one key never share a batch: the second one must find what the first wrote. */
  readonly keyOf?: (input: In) => string
  /** Inputs with one lock wait for the same row. By default each key has its own lock. */
  readonly lockOf?: (input: In) => string
  /** Counts the characters of an input that is long. */
  readonly lengthOf?: (input: In) => number
  readonly maxBatchSize: number
  /**
   * Batches under way, 2 by default: one is written to disk while the next one is prepared. More
   * batches would be smaller and wait for each other's locks.
   */
  readonly maxInFlight?: number
  /** Writes that can wait. One more is rejected. */
  readonly maxQueued: number
  /** Shared by all kinds of batches. */
  readonly slots: BatchSlots
  /** Writes all inputs or none and returns the results in their order. Can be called again. */
  readonly flush: (inputs: readonly In[]) => Promise<readonly Out[]>
}

/** A batch that takes longer waits for a lock, such as a host's transaction. Others go ahead. */
const STUCK_MS = 500
/** Stuck batches and retries at once. Each takes a connection, and a host's pool can have few. */
const MAX_ASIDE = 2
/** A write that waits longer for locks fails. A claim, for example, would be out of date. */
const MAX_WAIT_MS = 10_000

/**
 * Groups writes into batches, so that many callers share one commit.
 *
 * - A write starts a batch at the end of the current turn of the event loop. While `maxInFlight`
 *   batches are under way, or all slots are taken, the next batch collects writes. So a single
 *   caller waits for no other, and a thousand callers share a commit.
 * - One write that fails does not fail its batch: the batch is split until that write is alone.
 * - A write that does not get its lock is retried alone, beside the queue. Other writes for that
 *   lock wait for it, and all other writes go ahead.
 */
export class Batcher<In, Out> {
  readonly #options: BatcherOptions<In, Out>
  /** Writes that were in no batch yet, oldest first. */
  #queue: Write<In, Out>[] = []
  /** Writes of failed batches. However many they are, the queue does not wait for them. */
  #retries: Write<In, Out>[] = []
  /** Batches from the queue under way. A stuck batch no longer counts. */
  #inFlight = 0
  /**
   * The locks of each stuck batch and of each retry. Another batch for them would get stuck too.
   */
  readonly #aside = new Set<ReadonlySet<string | undefined>>()
  /** Locks that a write did not get although the write was alone in its batch. */
  readonly #contended = new Set<string | undefined>()
  #isBatchDue = false
  #isRetryDue = false

  constructor(options: BatcherOptions<In, Out>) {
    this.#options = options
  }

  /** Resolves with the input's result. Rejects with the database's error, or if too many wait. */
  commit(input: In): Promise<Out> {
    const { keyOf, lockOf = keyOf, lengthOf, maxBatchSize, maxQueued } = this.#options
    if (this.#queue.length + this.#retries.length >= maxQueued)
      return Promise.reject(new Error(`${maxQueued} writes are waiting already`))
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + MAX_WAIT_MS
      const key = keyOf?.(input) ?? Symbol('unique')
      const lock = lockOf?.(input)
      this.#queue.push({
        input,
        key,
        lock,
        maxBatchSize,
        length: lengthOf?.(input) ?? 0,
        lockFailures: 0,
        deadline,
        resolve,
        reject,
      })
      this.#schedule()
    })
  }

  #schedule(): void {
    this.#rejectExpired()
    const { maxInFlight = 2, slots } = this.#options
    const canStart = this.#queue.length > 0 && this.#inFlight < maxInFlight
    if (canStart && !this.#isBatchDue) {
      this.#isBatchDue = true
      slots.acquire((free) => setImmediate(() => this.#startBatch(free)))
    }
    if (this.#retries.length > 0 && this.#aside.size < MAX_ASIDE && !this.#isRetryDue) {
      this.#isRetryDue = true
      setImmediate(() => this.#startRetry())
    }
  }

  /** Takes all writes that came while the batch waited for its slot. */
  #startBatch(freeSlot: () => void): void {
    this.#isBatchDue = false
    const { batch, rest } = this.#take(this.#queue)
    this.#queue = rest
    if (batch.length === 0) {
      freeSlot()
      return
    }
    void this.#runBatch(batch).then(freeSlot)
    this.#schedule()
  }

  #startRetry(): void {
    this.#isRetryDue = false
    const { batch, rest } = this.#take(this.#retries)
    this.#retries = rest
    if (batch.length === 0) return
    void this.#runAside(batch)
    this.#schedule()
  }

  #take(writes: readonly Write<In, Out>[]) {
    return takeBatch(writes, this.#options.maxBatchSize, (write) => this.#isBlocked(write))
  }

  #isBlocked({ lock, lockFailures }: Write<In, Out>): boolean {
    if (lock === undefined) return false
    if (this.#contended.has(lock) && lockFailures === 0) return true
    for (const locks of this.#aside) if (locks.has(lock)) return true
    return false
  }

  async #runBatch(batch: readonly Write<In, Out>[]): Promise<void> {
    const locks = locksOf(batch)
    this.#inFlight++
    const stuck = setTimeout(() => {
      if (this.#aside.size === MAX_ASIDE) return
      this.#aside.add(locks)
      this.#inFlight--
      this.#schedule()
    }, STUCK_MS)
    await this.#flush(batch)
    clearTimeout(stuck)
    if (!this.#aside.delete(locks)) this.#inFlight--
    this.#schedule()
  }

  async #runAside(batch: readonly Write<In, Out>[]): Promise<void> {
    const locks = locksOf(batch)
    this.#aside.add(locks)
    await this.#flush(batch)
    this.#aside.delete(locks)
    this.#schedule()
  }

  async #flush(batch: readonly Write<In, Out>[]): Promise<void> {
    try {
      const inputs = batch.map(({ input }) => input)
      const results = await retried(() => this.#options.flush(inputs))
      for (const [at, { lock, resolve }] of batch.entries()) {
        this.#contended.delete(lock)
        resolve(results[at] as Out)
      }
    } catch (error) {
      this.#handleFailure(batch, error)
    }
  }

  #handleFailure(batch: readonly Write<In, Out>[], error: unknown): void {
    const lockFailures = batch[0]?.lockFailures ?? 0
    switch (decideFailure(error, batch.length, lockFailures)) {
      case 'split':
        this.#retries.unshift(...split(batch, error))
        return
      case 'retry':
        for (const write of batch) {
          this.#contended.add(write.lock)
          this.#retries.push({ ...write, maxBatchSize: 1, lockFailures: lockFailures + 1, error })
        }
        return
      case 'reject':
        for (const write of batch) this.#reject(write, error)
    }
  }

  #rejectExpired(): void {
    if (this.#retries.length === 0) return
    const now = performance.now()
    const expired = this.#retries.filter(({ deadline }) => deadline <= now)
    if (expired.length === 0) return
    this.#retries = this.#retries.filter(({ deadline }) => deadline > now)
    for (const write of expired) this.#reject(write, write.error)
  }

  /** Rejects with a write that did not get its lock all others for it, which would wait as long. */
  #reject({ lock, lockFailures, reject }: Write<In, Out>, error: unknown): void {
    reject(error)
    if (lockFailures === 0 || lock === undefined) return
    this.#contended.delete(lock)
    for (const write of [...this.#retries, ...this.#queue])
      if (write.lock === lock) write.reject(error)
    this.#retries = this.#retries.filter((write) => write.lock !== lock)
    this.#queue = this.#queue.filter((write) => write.lock !== lock)
  }
}

const locksOf = <In, Out>(batch: readonly Write<In, Out>[]): ReadonlySet<string | undefined> =>
  new Set(batch.map(({ lock }) => lock))
