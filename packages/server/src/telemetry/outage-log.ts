import type { Clock, Fact, Telemetry } from '@org/agent-messaging-core/runtime'
import { toIso } from '@org/agent-messaging-core/storage'
import type { Logger } from './logging.js'

type Outage = {
  readonly since: number
  lastFailureAt: number
  lastLineAt: number
  failures: number
  reason: Fact[string]
}

export type Watched = {
  readonly clock: Clock
  /** Returns true if the storage can be read and written now. */
  readonly isUp: () => Promise<boolean>
}

/** How often an outage is looked at, and how long it must be quiet before it can be over. */
const CHECK_MS = 1_000
const QUIET_MS = 2_000
const REPEAT_MS = 60_000

/**
 * Logs an outage of the storage as one line at its start, one a minute, and one at its end.
 * Every other fact goes to `others`.
 */
export class OutageLog implements Telemetry {
  readonly #logger: Logger
  readonly #others: Telemetry
  readonly #stopping = new AbortController()
  #outage: Outage | undefined
  #watched: Watched | undefined

  constructor(logger: Logger, others: Telemetry) {
    this.#logger = logger
    this.#others = others
  }

  readonly record = (fact: Fact): void => {
    if (fact.name !== 'store.unavailable' || !this.#watched) return this.#others.record(fact)
    const now = this.#watched.clock.now()
    const { reason } = fact
    if (this.#outage) {
      this.#outage.lastFailureAt = now
      this.#outage.failures++
      this.#outage.reason = reason
      return
    }
    this.#others.record(fact)
    this.#outage = { since: now, lastFailureAt: now, lastLineAt: now, failures: 1, reason }
    void this.#follow(this.#outage, this.#watched)
  }

  /** Joins the failures of an outage from now on. Until then, each is a line. */
  watch(watched: Watched): void {
    this.#watched = watched
  }

  stop(): void {
    this.#stopping.abort('stopped')
  }

  async #follow(outage: Outage, { clock, isUp }: Watched) {
    const { signal } = this.#stopping
    for (;;) {
      await clock.sleep(CHECK_MS, signal)
      if (signal.aborted) return
      const now = clock.now()
      if (now - outage.lastFailureAt >= QUIET_MS && (await isUp())) return this.#end(outage)
      if (now - outage.lastLineAt >= REPEAT_MS) this.#repeat(outage, now)
    }
  }

  #repeat(outage: Outage, now: number) {
    outage.lastLineAt = now
    const { reason, failures, since } = outage
    this.#logger.error({ reason, failures, since: toIso(since) }, 'store.unavailable')
  }

  #end(outage: Outage) {
    this.#outage = undefined
    const { failures, since, lastFailureAt } = outage
    this.#logger.warn({ failures, durationMs: lastFailureAt - since }, 'store.available')
  }
}
