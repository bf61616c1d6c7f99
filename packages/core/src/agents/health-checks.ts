import type { Instant } from '../domain/values/instant.js'
import { beginningOf, isStorableText } from '../domain/values/json.js'
import { wordsOf } from '../domain/messages/run.js'
import type { Platform } from '../platform.js'
import type { AgentHealthPolicy } from '../policy.js'
import type { RunningAgent } from '../ports/agent-runtime.js'
import { AbortGroup } from './abort-group.js'
import type { HostedAgent } from './agent-host.js'

type CheckedAgent = { checkedAt: Instant; failedChecks: number; isChecking: boolean }

const MAX_DETAIL_LENGTH = 500

/**
 * True when the next check is due: sooner after a failed check. A clock that was set back counts
 * as well, so no check waits until the old time comes again.
 */
export function isCheckDue(
  { checkedAt, failedChecks }: Pick<CheckedAgent, 'checkedAt' | 'failedChecks'>,
  now: Instant,
  { intervalMs, recheckMs }: AgentHealthPolicy,
): boolean {
  return Math.abs(now - checkedAt) >= (failedChecks === 0 ? intervalMs : recheckMs)
}

/** Checks the health of this process's agents. */
export class HealthChecks {
  readonly #platform: Platform
  readonly #onUnhealthy: (hosted: HostedAgent, problem: string) => void
  readonly #checked = new WeakMap<HostedAgent, CheckedAgent>()
  readonly #requests = new AbortGroup()

  /** `onUnhealthy` is called after `failuresBeforeError` failed checks in a row. */
  constructor(platform: Platform, onUnhealthy: (hosted: HostedAgent, problem: string) => void) {
    this.#platform = platform
    this.#onUnhealthy = onUnhealthy
  }

  /** Starts the checks that are due, and does not wait for them. */
  startDue(agents: Iterable<HostedAgent>): void {
    const { clock, policy } = this.#platform
    const now = clock.now()
    for (const hosted of agents) {
      const checked = this.#checkedOf(hosted)
      if (isCheckDue(checked, now, policy.agentHealth)) void this.#check(hosted, checked)
    }
  }

  /** Checks the agent at once. */
  startNow(hosted: HostedAgent): void {
    void this.#check(hosted, this.#checkedOf(hosted))
  }

  /** Asks the agent. Returns its problem, or undefined if it is healthy. Never rejects. */
  ask(running: RunningAgent): Promise<string | undefined> {
    return this.#requests.run((over) => this.#problemOf(running, over))
  }

  stop(): void {
    this.#requests.abort('stopped')
  }

  #checkedOf(hosted: HostedAgent): CheckedAgent {
    const known = this.#checked.get(hosted)
    if (known) return known
    const checkedAt = this.#platform.clock.now()
    const checked = { checkedAt, failedChecks: 0, isChecking: false }
    this.#checked.set(hosted, checked)
    return checked
  }

  async #check(hosted: HostedAgent, checked: CheckedAgent): Promise<void> {
    if (checked.isChecking) return
    const { clock, policy } = this.#platform
    checked.isChecking = true
    const problem = await this.ask(hosted.running)
    checked.isChecking = false
    checked.checkedAt = clock.now()
    checked.failedChecks = problem === undefined ? 0 : checked.failedChecks + 1
    const isUnhealthy = checked.failedChecks >= policy.agentHealth.failuresBeforeError
    if (problem === undefined || !isUnhealthy || this.#requests.aborted) return
    checked.failedChecks = 0
    this.#onUnhealthy(hosted, problem)
  }

  async #problemOf(running: RunningAgent, over: AbortController): Promise<string | undefined> {
    const { clock, policy } = this.#platform
    const { timeoutMs } = policy.agentHealth
    const timeout = clock
      .sleep(timeoutMs, over.signal)
      .then(() => ({ ok: false, detail: `no answer within ${timeoutMs} ms` }))
    try {
      const health = await Promise.race([running.health(over.signal), timeout])
      return health.ok ? undefined : storable(health.detail)
    } catch (error) {
      return storable(wordsOf(error))
    } finally {
      over.abort('over')
    }
  }
}

/** The detail can be any text, and is stored with the agent. */
function storable(detail = 'no reason given'): string {
  const short = beginningOf(detail, MAX_DETAIL_LENGTH)
  return isStorableText(short) ? short : 'the reason cannot be stored as text'
}
