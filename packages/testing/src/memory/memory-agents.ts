import type { AuditEntry, Agent, Instant, Page } from '@org/agent-messaging-core'
import {
  mayChangeRuntime,
  type AgentChange,
  type AgentStore,
  type OwnRequest,
  type StateChange,
  type ClaimedDeliveries,
  type PageOf,
  type ResealedRows,
  type ResealStep,
} from '@org/agent-messaging-core/storage'
import { ofProject, resealRows, type Immediate, type Memory } from './memory.js'
import { recorded } from './memory-audit.js'
import { publish } from './memory-outbox.js'
import { newestFirst } from './memory-page.js'
import { removeSession } from './memory-sessions.js'

export class MemoryAgents implements Immediate<AgentStore> {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  create(
    agent: Agent,
    limit: number,
    audit?: AuditEntry,
  ): 'created' | 'name_taken' | 'limit_reached' {
    if (this.#memory.agents.has(agent.id)) return 'created'
    if (this.#isNameTaken(agent)) return 'name_taken'
    if (this.#agentsOf(agent.projectId).length >= limit) return 'limit_reached'
    this.#memory.agents.set(agent.id, agent)
    return recorded(this.#memory, audit, 'created', agent)
  }

  get(projectId: string, idOrName: string): Agent | undefined {
    return this.#agentsOf(projectId).find(({ id, name }) => id === idOrName || name === idOrName)
  }

  list(projectId: string, page: PageOf): Page<Agent> {
    return newestFirst(this.#agentsOf(projectId), page)
  }

  update(
    projectId: string,
    id: string,
    change: AgentChange,
    audit?: AuditEntry,
    restarts = false,
  ): Agent | 'name_taken' | 'not_stopped' | undefined {
    const agent = ofProject(this.#memory.agents.get(id), projectId)
    if (!agent) return undefined
    if (change.runtime && !restarts && !mayChangeRuntime(agent)) return 'not_stopped'
    const changed = { ...agent, ...change }
    if (this.#isNameTaken(changed)) return 'name_taken'
    this.#memory.agents.set(id, changed)
    return recorded(this.#memory, audit, changed, changed, agent)
  }

  delete(projectId: string, id: string, audit?: AuditEntry): 'deleted' | 'busy' | undefined {
    const { agents, sessions } = this.#memory
    const agent = ofProject(agents.get(id), projectId)
    if (!agent) return undefined
    const ofAgent = [...sessions.values()].filter(({ agentId }) => agentId === id)
    if (ofAgent.some(({ open }) => open.length > 0)) return 'busy'
    agents.delete(id)
    for (const session of ofAgent) removeSession(this.#memory, session)
    return recorded(this.#memory, audit, 'deleted', agent)
  }

  changeState({ agentId, from, to, outgoing }: StateChange): {
    changed: boolean
  } & ClaimedDeliveries {
    const agent = this.#memory.agents.get(agentId)
    if (agent?.state.kind !== from) return { changed: false, ...publish(this.#memory) }
    this.#memory.agents.set(agentId, { ...agent, state: to })
    return { changed: true, ...publish(this.#memory, outgoing) }
  }

  own({ owner, agentIds, now, until }: OwnRequest): string[] {
    const { agents, owners } = this.#memory
    const own = agentIds.filter((id) => agents.has(id) && this.#canOwn(id, owner, now))
    for (const agentId of own) owners.set(agentId, { owner, until })
    return own
  }

  disown(owner: string): void {
    const { owners } = this.#memory
    for (const [agentId, holder] of owners) if (holder.owner === owner) owners.delete(agentId)
  }

  listActive(): Agent[] {
    return [...this.#memory.agents.values()].filter(
      ({ desiredState, state }) => desiredState === 'running' || state.kind !== 'stopped',
    )
  }

  reseal(step: ResealStep<Agent>): ResealedRows {
    return resealRows(this.#memory.agents, step)
  }

  #agentsOf(projectId: string): Agent[] {
    return [...this.#memory.agents.values()].filter((agent) => agent.projectId === projectId)
  }

  #isNameTaken({ id, projectId, name }: Agent): boolean {
    return this.#agentsOf(projectId).some((other) => other.id !== id && other.name === name)
  }

  #canOwn(agentId: string, owner: string, now: Instant): boolean {
    const holder = this.#memory.owners.get(agentId)
    return holder === undefined || holder.owner === owner || holder.until <= now
  }
}
