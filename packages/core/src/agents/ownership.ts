import type { Agent } from '../domain/agent.js'
import type { Instant } from '../domain/instant.js'
import type { Platform } from '../platform.js'
import { runtimeHere } from './runtime-here.js'

/** Which agents are this process's to look after: of those that run in one process at a time, the ones that it owns; of the others, all. */
export type Ownership = {
  /** Takes what nobody living owns and extends what is its own. Never rejects. */
  claim(agents: readonly Agent[]): Promise<(agent: Agent) => boolean>
  /** It is stopped or deleted. */
  forget(agentId: string): void
  /** Gives up everything, so that others need not wait for the end of a lease. */
  release(): Promise<void>
}

export function createOwnership(
  d: Pick<Platform, 'storage' | 'runtimes' | 'ids' | 'clock' | 'policy'>,
): Ownership {
  let owner: string | undefined
  const extendedAt = new Map<string, Instant>()

  const isExclusive = ({ runtime }: Agent): boolean =>
    d.runtimes.get(runtime.kind)?.exclusive === true

  /**
   * It is to run, and this process lacks what it needs: an owner that cannot run it would keep it from those that can. One that is said to
   * run is looked at all the same, for where nobody else can be that is not so.
   */
  const isLeft = (agent: Agent): boolean =>
    agent.desiredState === 'running' &&
    ['running', 'error'].includes(agent.state.kind) &&
    !runtimeHere(d.runtimes, agent)

  /** Every third of a lease, so that one may be missed. Either way: after a jump of the clock it must not wait for the old time. */
  function isDue(agentId: string, now: Instant): boolean {
    const at = extendedAt.get(agentId)
    return at === undefined || Math.abs(now - at) >= d.policy.runLeaseMs / 3
  }

  async function extend(agentIds: readonly string[], now: Instant): Promise<void> {
    owner ??= d.ids.next()
    const own = await d.storage.agents.own({
      owner,
      agentIds,
      now,
      until: now + d.policy.runLeaseMs,
    })
    // While the store is away nobody else can take them over either; and once it is back, the leases of runs tell who was late.
    if (own.isErr()) return
    for (const agentId of agentIds) extendedAt.delete(agentId)
    for (const agentId of own.value) extendedAt.set(agentId, now)
  }

  return {
    async claim(agents) {
      const now = d.clock.now()
      const due = agents
        .filter((agent) => isExclusive(agent) && !isLeft(agent) && isDue(agent.id, now))
        .map(({ id }) => id)
      if (due.length > 0) await extend(due, now)
      return (agent) =>
        !isExclusive(agent) ||
        (isLeft(agent) ? agent.state.kind === 'running' : extendedAt.has(agent.id))
    },
    forget: (agentId) => void extendedAt.delete(agentId),
    async release() {
      if (owner !== undefined) await d.storage.agents.disown(owner)
      extendedAt.clear()
    },
  }
}
