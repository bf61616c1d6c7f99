import type { Instant } from '@org/agent-messaging-core'
import type { Clock } from '@org/agent-messaging-core/runtime'
import { MIN_JUMP_MS } from '@org/agent-messaging-core/storage'
import type pg from 'pg'

export type DatabaseClockOptions = {
  /** This machine's clock. */
  readonly base: Clock
  /** Called with the difference at the start and after a change, if it is a second or more. */
  readonly onSkew: (byMs: number) => void
}

const INTERVAL_MS = 60_000
const SAMPLES = 5
/** The answer of a slower query says too little about the time. */
const SLOWEST_MS = 1_000
const WORTH_REPORTING_MS = 1_000
/** The pause after a measurement that failed. */
const RETRY_MS = 1_000

const readSql = 'select extract(epoch from clock_timestamp())::float8 * 1000 as now'
/** Other processes see in this row that time passes. */
const seenSql = `
  insert into agent_messaging.settings (name, value)
  values ('clock_seen', (extract(epoch from clock_timestamp()) * 1000)::bigint::text)
  on conflict (name) do update set value = excluded.value`

/**
 * The clock of the database, which all processes share. Leases are compared with it, so a process
 * with a wrong clock takes nothing from the others, and is taken over in time.
 *
 * The time is this machine's elapsed time plus an offset. The offset is measured at the start,
 * every minute, and when this machine's time of day jumps. A query takes a round trip, and the
 * database read its clock about halfway. Of a few queries the fastest counts.
 */
export class DatabaseClock implements Clock {
  readonly #pool: pg.Pool
  readonly #base: Clock
  readonly #onSkew: (byMs: number) => void
  readonly #timer: NodeJS.Timeout
  /** The database's time of day minus this machine's elapsed time. */
  #offset = 0
  /** The same for this machine's time of day, at the last measurement. */
  #ownOffset = 0
  #reportedSkew = 0
  /** When to measure a difference again, in elapsed time. */
  #retryAt = -Infinity
  #measuring: Promise<void> | undefined

  private constructor(pool: pg.Pool, { base, onSkew }: DatabaseClockOptions) {
    this.#pool = pool
    this.#base = base
    this.#onSkew = onSkew
    // An outage leaves the last offset.
    this.#timer = setInterval(() => void this.measure().catch(() => undefined), INTERVAL_MS)
    this.#timer.unref()
  }

  /** Rejects if the database does not answer, or too slowly. */
  static async start(pool: pg.Pool, options: DatabaseClockOptions): Promise<DatabaseClock> {
    const clock = new DatabaseClock(pool, options)
    try {
      clock.#offset = await clock.#readOffset()
      await clock.measure()
      return clock
    } catch (error) {
      await clock.stop()
      throw error
    }
  }

  readonly now = (): Instant => {
    const elapsed = this.#base.elapsed()
    const ownOffset = this.#base.now() - elapsed
    // Also after a pause of the whole machine, which its elapsed time does not count.
    if (Math.abs(ownOffset - this.#ownOffset) >= MIN_JUMP_MS && elapsed >= this.#retryAt)
      void this.measure().catch(() => {
        this.#retryAt = this.#base.elapsed() + RETRY_MS
      })
    return Math.floor(elapsed + this.#offset)
  }

  readonly elapsed = (): number => this.#base.elapsed()

  readonly sleep: Clock['sleep'] = (ms, signal) => this.#base.sleep(ms, signal)

  /** Measures the offset now. */
  measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = undefined
    })
    return this.#measuring
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#measuring?.catch(() => undefined)
  }

  async #measure(): Promise<void> {
    const ownOffset = this.#base.now() - this.#base.elapsed()
    const offset = await this.#readOffset()
    this.#ownOffset = ownOffset
    const hasJumped = Math.abs(offset - this.#offset) >= MIN_JUMP_MS
    this.#offset = offset
    const skew = Math.round(offset - this.#ownOffset)
    if (Math.abs(skew - this.#reportedSkew) >= WORTH_REPORTING_MS) {
      this.#reportedSkew = skew
      this.#onSkew(skew)
    }
    // The stored times must first move with a jump.
    if (!hasJumped) await this.#pool.query(seenSql)
  }

  async #readOffset(): Promise<number> {
    const client = await this.#pool.connect()
    try {
      let best = { tookMs: SLOWEST_MS, offset: NaN }
      for (let sample = 0; sample < SAMPLES; sample++) {
        const before = this.#base.elapsed()
        const { rows } = await client.query<{ now: number }>(readSql)
        const after = this.#base.elapsed()
        const offset = (rows[0]?.now ?? NaN) - (before + after) / 2
        if (after - before <= best.tookMs) best = { tookMs: after - before, offset }
      }
      if (Number.isNaN(best.offset)) throw new Error('the database answers too slowly')
      return best.offset
    } finally {
      client.release()
    }
  }
}
