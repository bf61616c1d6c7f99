import type { Database } from 'better-sqlite3'
import type { Unavailable } from '@org/agent-messaging-core'
import { failure, success } from '@org/agent-messaging-core/runtime'
import { CLOSED, type Stored } from '@org/agent-messaging-core/storage'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { unavailable, unavailableBecause } from './errors.js'
import { isPostponed, Transactions, type Collected } from './transaction.js'

/** Writes in one transaction at most. The event loop runs between two transactions. */
const LARGEST_BATCH = 256
/** Commits that go before a step of a long read. */
const COMMITS_FIRST = 4
/**
 * The pause between two tries while another process writes. Two busy writers then wait 200 ms at
 * worst.
 */
const BUSY_PAUSE_MS = 2

export type GroupCommitterOptions = {
  /** Writes that can wait for their commit. One more write is `Unavailable`. */
  readonly maxQueued: number
  /** How long a write waits while other processes write. After that the write is `Unavailable`. */
  readonly busyTimeoutMs: number
  /** Describes a database error to the caller. */
  readonly explain?: (error: unknown) => Unavailable
  /** Returns the reason why no write can be committed now, if there is one. */
  readonly obstacle?: () => Unavailable | undefined
}

type Write = {
  readonly operation: () => unknown
  readonly resolve: (result: Awaited<Stored<unknown>>) => void
  /** By the clock of `performance.now`. */
  readonly deadline: number
}
/** Writes that were not tried because another process was writing, and the error that says so. */
type Postponed = { readonly writes: readonly Write[]; readonly error?: unknown }

/**
 * Reads and writes the database for the stores. An error becomes `Unavailable`: no method throws or
 * rejects.
 *
 * Concurrent writes share one commit. A durable commit costs one disk sync, however many writes it
 * contains. The committer therefore collects writes during one turn of the event loop and commits
 * them together, which is 8 times as fast as one commit for each write.
 *
 * While another process writes, the queue keeps its order and the event loop continues. `db` must
 * have a busy timeout of 0, because SQLite blocks the thread while it waits.
 */
export class GroupCommitter {
  readonly #transactions: Transactions
  readonly #maxQueued: number
  readonly #busyTimeoutMs: number
  readonly #explain: (error: unknown) => Unavailable
  readonly #obstacle: () => Unavailable | undefined
  /** Writes that wait for their commit, oldest first. */
  readonly #queue: Write[] = []
  /** The turn of the last long read. */
  #turn = Promise.resolve()
  #onFlush = (): void => undefined
  #isFlushDue = false
  #isClosed = false

  constructor(
    db: Database,
    {
      maxQueued,
      busyTimeoutMs,
      explain = unavailableBecause,
      obstacle = () => undefined,
    }: GroupCommitterOptions,
  ) {
    this.#transactions = new Transactions(db)
    this.#maxQueued = maxQueued
    this.#busyTimeoutMs = busyTimeoutMs
    this.#explain = explain
    this.#obstacle = obstacle
  }

  /** Writes the changes that operations collect once for each transaction, before its commit. */
  collecting<C extends Collected>(changes: C): C {
    this.#transactions.collect(changes)
    return changes
  }

  /** Runs `query` now, on committed data. */
  read<T>(query: () => T): Stored<T> {
    if (this.#isClosed) return closed()
    try {
      return Promise.resolve(success(query()))
    } catch (error) {
      return refused(this.#explain(error))
    }
  }

  /**
   * Runs `operation` in a transaction that concurrent writes share. Resolves when the commit is
   * durable. `operation` can run twice, but only one run is committed.
   */
  write<T>(operation: () => T): Stored<T> {
    if (this.#isClosed) return closed()
    if (this.#queue.length >= this.#maxQueued)
      return refused(unavailable(`${this.#maxQueued} writes are waiting already`))
    const deadline = performance.now() + this.#busyTimeoutMs
    const written = new Promise<Awaited<Stored<unknown>>>((resolve) => {
      this.#queue.push({ operation, resolve, deadline })
    })
    this.#flushSoon()
    return written as Stored<T>
  }

  /**
   * Ends a step of a long read. Resolves when no write waits, at the latest after a few commits: a
   * send needs two. Long reads take turns.
   */
  turn(): Promise<void> {
    return (this.#turn = this.#turn.then(() => this.#writesFirst()))
  }

  async #writesFirst(): Promise<void> {
    for (let commits = 0; commits < COMMITS_FIRST; commits++) {
      await nextTurn()
      if (!this.#isFlushDue) return
      await new Promise<void>((resolve) => (this.#onFlush = resolve))
    }
  }

  /** Tries once to commit the queued writes. Later calls are `Unavailable`. */
  close(): void {
    this.#isClosed = true
    while (this.#queue.length > 0) {
      const postponed = this.#commitBatch(this.#queue.splice(0, LARGEST_BATCH))
      this.#fail(postponed.writes, postponed.error)
    }
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    setImmediate(this.#flush)
  }

  readonly #flush = (): void => {
    this.#isFlushDue = false
    this.#onFlush()
    if (this.#queue.length === 0) return
    const postponed = this.#commitBatch(this.#queue.splice(0, LARGEST_BATCH))
    if (postponed.writes.length > 0) this.#waitForOtherWriter(postponed)
    else if (this.#queue.length > 0) this.#flushSoon()
  }

  /** Puts the writes back, fails the writes that waited too long, and tries again later. */
  #waitForOtherWriter({ writes, error }: Postponed): void {
    this.#queue.unshift(...writes)
    const now = performance.now()
    const alive = this.#queue.findIndex(({ deadline }) => deadline > now)
    this.#fail(this.#queue.splice(0, alive === -1 ? this.#queue.length : alive), error)
    if (this.#queue.length === 0) return
    this.#isFlushDue = true
    setTimeout(this.#flush, BUSY_PAUSE_MS)
  }

  #commitBatch(batch: readonly Write[]): Postponed {
    const obstacle = this.#obstacle()
    if (obstacle) {
      for (const write of batch) write.resolve(failure(obstacle))
      return NOTHING_POSTPONED
    }
    const result = this.#transactions.run(batch.map(({ operation }) => operation))
    if (result.ok) {
      for (const [i, write] of batch.entries()) write.resolve(success(result.value[i]))
      return NOTHING_POSTPONED
    }
    const { step, error } = result.error
    if (isPostponed(result.error)) return { writes: batch, error }
    // One operation threw. The others can succeed without it.
    if (step === 'operate' && batch.length > 1) return this.#commitEach(batch)
    this.#fail(batch, error)
    return NOTHING_POSTPONED
  }

  #commitEach(batch: readonly Write[]): Postponed {
    for (const [i, write] of batch.entries()) {
      const result = this.#transactions.run([write.operation])
      if (result.ok) write.resolve(success(result.value[0]))
      else if (isPostponed(result.error))
        return { writes: batch.slice(i), error: result.error.error }
      else if (result.error.step === 'operate') this.#fail([write], result.error.error)
      else {
        // The database failed, not the operation. The remaining writes would fail in the same way.
        this.#fail(batch.slice(i), result.error.error)
        break
      }
    }
    return NOTHING_POSTPONED
  }

  #fail(writes: readonly Write[], error: unknown): void {
    for (const write of writes) write.resolve(failure(this.#explain(error)))
  }
}

const NOTHING_POSTPONED: Postponed = { writes: [] }

const refused = (error: Unavailable) => Promise.resolve(failure(error))

const closed = () => refused(unavailable(CLOSED))
