import { mayChangeRuntime, type Agent } from '../domain/agent.js'
import type { Instant } from '../domain/instant.js'
import type { AgentStore } from '../ports/agent-store.js'
import { ofProject, resealRows, type Immediate, type Memory } from './memory.js'
import { publish } from './memory-outbox.js'
import { newestFirst } from './memory-page.js'
import { removeSession } from './memory-sessions.js'

export const memoryAgents = (memory: Memory): Immediate<AgentStore> => ({
  create(agent, limit) {
    if (memory.agents.has(agent.id)) return 'created'
    if (isNameTaken(memory, agent)) return 'name_taken'
    if (agentsOf(memory, agent.projectId).length >= limit) return 'limit_reached'
    memory.agents.set(agent.id, agent)
    return 'created'
  },

  get(projectId, idOrName) {
    return agentsOf(memory, projectId).find(({ id, name }) => id === idOrName || name === idOrName)
  },

  list(projectId, page) {
    return newestFirst(agentsOf(memory, projectId), page)
  },

  update(projectId, id, change) {
    const agent = ofProject(memory.agents.get(id), projectId)
    if (!agent) return undefined
    if (change.runtime && !mayChangeRuntime(agent)) return 'not_stopped'
    const changed = { ...agent, ...change }
    if (isNameTaken(memory, changed)) return 'name_taken'
    memory.agents.set(id, changed)
    return changed
  },

  delete(projectId, id, { force }) {
    if (!ofProject(memory.agents.get(id), projectId)) return undefined
    if (!force && hasOpenMessages(memory, id)) return 'busy'
    memory.agents.delete(id)
    for (const session of memory.sessions.values())
      if (session.agentId === id) removeSession(memory, session)
    return 'deleted'
  },

  changeState({ agentId, from, to, outgoing }) {
    const agent = memory.agents.get(agentId)
    if (agent?.state.kind !== from) return { changed: false, deliveries: [] }
    memory.agents.set(agentId, { ...agent, state: to })
    return { changed: true, deliveries: outgoing ? publish(memory, outgoing) : [] }
  },

  own({ owner, agentIds, now, until }) {
    const own = agentIds.filter(
      (agentId) => memory.agents.has(agentId) && isFree(memory, agentId, owner, now),
    )
    for (const agentId of own) memory.owners.set(agentId, { owner, until })
    return own
  },

  disown(owner) {
    for (const [agentId, holder] of memory.owners)
      if (holder.owner === owner) memory.owners.delete(agentId)
  },

  listActive() {
    return [...memory.agents.values()].filter(
      ({ desiredState, state }) => desiredState === 'running' || state.kind !== 'stopped',
    )
  },

  reseal: (step) => resealRows(memory.agents, step),
})

function isFree(memory: Memory, agentId: string, owner: string, now: Instant): boolean {
  const holder = memory.owners.get(agentId)
  return holder === undefined || holder.owner === owner || holder.until <= now
}

const agentsOf = (memory: Memory, projectId: string): Agent[] =>
  [...memory.agents.values()].filter((agent) => agent.projectId === projectId)

const isNameTaken = (memory: Memory, { id, projectId, name }: Agent): boolean =>
  [...memory.agents.values()].some(
    (other) => other.id !== id && other.projectId === projectId && other.name === name,
  )

const hasOpenMessages = (memory: Memory, agentId: string): boolean =>
  [...memory.sessions.values()].some(
    (session) => session.agentId === agentId && session.open.length > 0,
  )
