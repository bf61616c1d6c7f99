import type { Agent, AgentState } from '../domain/agent.js'
import type { Instant } from '../domain/instant.js'
import type { ClaimedDelivery, Outgoing } from './delivery-store.js'
import type { Page, PageOf, ResealedRows, ResealStep, Stored } from './stored.js'

/** Agents: what is wanted of them and what is observed. */
export interface AgentStore {
  /** `limit_reached` when the project has `limit` agents already. */
  create(agent: Agent, limit: number): Stored<'created' | 'name_taken' | 'limit_reached'>
  /** By id or by name. */
  get(projectId: string, idOrName: string): Stored<Agent | undefined>
  /** Newest first. */
  list(projectId: string, page: PageOf): Stored<Page<Agent>>
  /** A change of the runtime only takes place while the agent is stopped, and is to be. */
  update(
    projectId: string,
    id: string,
    change: AgentChange,
  ): Stored<Agent | 'name_taken' | 'not_stopped' | undefined>
  /**
   * Deletes the agent with its sessions and messages: from the commit on nothing finds them, and `MessageStore.sweep` frees
   * their room. Refuses with `busy` while messages are open, unless `force`: those are then gone, unanswered. Deliveries of
   * past events stay.
   */
  delete(
    projectId: string,
    id: string,
    options: { readonly force: boolean },
  ): Stored<'deleted' | 'busy' | undefined>
  /** Compare and set on the kind of state, with its event in the same commit: one caller gets `changed`, so it is reported once. */
  changeState(
    change: StateChange,
  ): Stored<{ readonly changed: boolean; readonly deliveries: readonly ClaimedDelivery[] }>
  /**
   * Leases to `owner`, until `until`, those of the agents that nobody else holds past `now`; its own are extended. Gives the ids of
   * those that are its own now.
   */
  own(request: OwnRequest): Stored<string[]>
  /** Gives up all that `owner` holds. */
  disown(owner: string): Stored<void>
  /** Agents of every project that should run or are not stopped: what a supervisor looks after. */
  listActive(): Stored<Agent[]>
  /** What is sealed of them, running or not. All else of them stays. */
  reseal(step: ResealStep<Agent>): Stored<ResealedRows>
}

/** Absent: left as it is. */
export type AgentChange = Partial<
  Pick<
    Agent,
    | 'name'
    | 'defaultExecutionPrincipal'
    | 'runtime'
    | 'desiredState'
    | 'concurrency'
    | 'maxAttempts'
    | 'maxQueued'
  >
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
  readonly outgoing?: Outgoing
}
