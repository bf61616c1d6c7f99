import type { Agent, AgentState } from '../domain/agents/agent.js'
import type { AuditEntry } from '../domain/access/audit.js'
import type { Instant } from '../domain/values/instant.js'
import type { ClaimedDeliveries, Outgoing } from './delivery-store.js'
import type { Page, PageOf, ResealedRows, ResealStep, Stored } from './stored.js'

/** Agents, with their desired and their observed state. */
export interface AgentStore {
  /** Creates the agent. Returns `limit_reached` if the project has `limit` agents already. */
  create(
    agent: Agent,
    limit: number,
    audit?: AuditEntry,
  ): Stored<'created' | 'name_taken' | 'limit_reached'>
  /** Finds an agent by its id or its name. */
  get(projectId: string, idOrName: string): Stored<Agent | undefined>
  /** Lists agents, newest first. */
  list(projectId: string, page: PageOf): Stored<Page<Agent>>
  /**
   * Changes the given fields. Returns `not_stopped`, and changes nothing, if the change includes
   * the runtime and the agent's desired or observed state is not stopped, unless `restarts` is
   * true: then each process restarts the agent.
   */
  update(
    projectId: string,
    id: string,
    change: AgentChange,
    audit?: AuditEntry,
    restarts?: boolean,
  ): Stored<Agent | 'name_taken' | 'not_stopped' | undefined>
  /**
   * Deletes the agent with its sessions and messages: nothing finds them after the commit, and
   * `MessageStore.sweep` frees their space. Returns `busy` if messages are open.
   * Deliveries of past events stay.
   */
  delete(projectId: string, id: string, audit?: AuditEntry): Stored<'deleted' | 'busy' | undefined>
  /**
   * Sets the state if its kind is still `from`, and commits the event with it. Only one caller
   * gets `changed`, so each change is reported once.
   */
  changeState(change: StateChange): Stored<{ readonly changed: boolean } & ClaimedDeliveries>
  /**
   * Leases to `owner`, until `until`, the given agents that no other owner holds past `now`.
   * Extends leases that `owner` has. Returns the ids of all agents that `owner` holds now.
   */
  own(request: OwnRequest): Stored<string[]>
  /** Releases every agent that `owner` holds. */
  disown(owner: string): Stored<void>
  /** Returns the agents of all projects that should run or are not stopped. */
  listActive(): Stored<Agent[]>
  /** Reseals the secrets of agents in every state, and changes nothing else. */
  reseal(step: ResealStep<Agent>): Stored<ResealedRows>
}

/** An absent field stays as it is. */
export type AgentChange = Partial<
  Omit<Agent, 'id' | 'projectId' | 'state' | 'createdAt' | 'updatedAt'>
> & { readonly updatedAt: Instant }

export type OwnRequest = {
  readonly owner: string
  readonly agentIds: readonly string[]
  readonly now: Instant
  readonly until: Instant
}

export type StateChange = {
  readonly agentId: string
  readonly from: AgentState['kind']
  readonly to: AgentState
  readonly outgoing?: Outgoing | undefined
}
