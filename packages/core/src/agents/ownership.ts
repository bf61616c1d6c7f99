import type { Agent } from '../domain/agents/agent.js'
import type { Instant } from '../domain/values/instant.js'
import { isExtensionDue } from '../messages/runs/run-leases.js'
import type { Platform } from '../platform.js'
import { runtimeFor } from './agent-host.js'

/**
 * The agents of this process. An agent with an exclusive runtime belongs to the one process that
 * has its lease. All other agents belong to every process.
 */
export class Ownership {
  readonly #platform: Platform
  #owner: string | undefined
  /** When this process last extended each of its leases. */
  readonly #extendedAt = new Map<string, Instant>()

  constructor(platform: Platform) {
    this.#platform = platform
  }

  /**
   * Claims exclusive agents that no live process owns, and extends the leases of this process.
   * Returns a test of whether this process takes care of an agent. Never rejects.
   * `isAsked`: a caller has asked this process to run them.
   */
  async claim(agents: readonly Agent[], isAsked = false): Promise<(agent: Agent) => boolean> {
    const { clock, policy } = this.#platform
    await clock.jumping
    const now = clock.now()
    const isDue = (agent: Agent): boolean =>
      isExtensionDue(this.#extendedAt.get(agent.id), now, policy.runLeaseMs)
    const isNew = (agent: Agent): boolean => !isAsked && this.#isNewForOthers(agent)
    const isLeft = (agent: Agent): boolean => this.#isLeftToOthers(agent) || isNew(agent)
    const due = agents.filter((agent) => this.#isExclusive(agent) && !isLeft(agent) && isDue(agent))
    if (due.length > 0)
      await this.#extend(
        due.map(({ id }) => id),
        now,
      )
    return (agent) => !isNew(agent) && this.#isOurs(agent)
  }

  forget(agentId: string): void {
    this.#extendedAt.delete(agentId)
  }

  /** Releases all leases, so that other processes do not wait until they end. */
  async release(): Promise<void> {
    if (this.#owner !== undefined) await this.#platform.storage.agents.disown(this.#owner)
    this.#extendedAt.clear()
  }

  #isExclusive({ runtime }: Agent): boolean {
    return this.#platform.runtimes.get(runtime.kind)?.exclusive === true
  }

  /**
   * True for an agent that should run and that this process cannot run: as its owner, this process
   * would keep it from the others.
   */
  #isLeftToOthers(agent: Agent): boolean {
    const { kind } = agent.state
    const isUp = kind === 'running' || kind === 'error'
    const { runtimes } = this.#platform
    return agent.desiredState === 'running' && isUp && !runtimeFor(runtimes, agent)
  }

  /** The process that was asked to start an agent has the time of a lease to do it. */
  #isNewForOthers({ desiredState, state, updatedAt, ...agent }: Agent): boolean {
    const { clock, policy, runtimes } = this.#platform
    const isDown = state.kind === 'stopped' || state.kind === 'starting'
    const isNew = isDown && clock.now() - updatedAt < policy.runLeaseMs
    return desiredState === 'running' && isNew && !runtimeFor(runtimes, agent)
  }

  /**
   * An agent left to others counts while it is marked running: if no other process lives, the mark
   * is wrong.
   */
  #isOurs(agent: Agent): boolean {
    if (!this.#isExclusive(agent)) return true
    if (this.#isLeftToOthers(agent)) return agent.state.kind === 'running'
    return this.#extendedAt.has(agent.id)
  }

  async #extend(agentIds: readonly string[], now: Instant): Promise<void> {
    const { ids, policy, storage } = this.#platform
    this.#owner ??= ids.next()
    const until = now + policy.runLeaseMs
    const owned = await storage.agents.own({ owner: this.#owner, agentIds, now, until })
    // While the storage is unavailable, no other process can claim either.
    if (!owned.ok) return
    for (const agentId of agentIds) this.#extendedAt.delete(agentId)
    for (const agentId of owned.value) this.#extendedAt.set(agentId, now)
  }
}
