import type { Agent, AgentState } from '../domain/agent.js'
import type { Instant } from '../domain/instant.js'
import type { ClaimedDelivery, Outgoing } from './delivery-store.js'
import type { Page, PageOf, Stored } from './storage.js'

/** Agents: what is wanted of them and what is observed. */
export interface AgentStore {
  create(agent: Agent): Stored<'created' | 'name_taken'>
  /** By id or by name. */
  get(projectId: string, idOrName: string): Stored<Agent | undefined>
  /** Newest first. */
  list(projectId: string, page: PageOf): Stored<Page<Agent>>
  update(projectId: string, id: string, change: AgentChange): Stored<Agent | 'name_taken' | undefined>
  /**
   * Deletes the agent with its sessions and messages: from the commit on nothing finds them, and `MessageStore.sweep` frees
   * their room. Refuses with `busy` while messages are open, unless `force`: those are then gone, unanswered. Deliveries of
   * past events stay.
   */
  delete(projectId: string, id: string, options: { readonly force: boolean }): Stored<'deleted' | 'busy' | undefined>
  /** Compare and set on the kind of state, with its event in the same commit: one caller gets `changed`, so it is reported once. */
  changeState(change: StateChange): Stored<{ readonly changed: boolean; readonly deliveries: readonly ClaimedDelivery[] }>
  /** Agents of every project that should run or are not stopped: what a supervisor looks after. */
  listActive(): Stored<Agent[]>
}

/** Absent: left as it is. */
export type AgentChange = Partial<
  Pick<Agent, 'name' | 'defaultExecutionPrincipal' | 'runtime' | 'desiredState' | 'concurrency' | 'maxAttempts' | 'maxQueued'>
> & { readonly updatedAt: Instant }

export type StateChange = {
  readonly agentId: string
  readonly from: AgentState['kind']
  readonly to: AgentState
  readonly outgoing?: Outgoing
}
