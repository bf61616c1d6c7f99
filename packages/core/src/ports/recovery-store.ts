import type { AuditEntry } from '../domain/access/audit.js'
import type { RunError } from '../domain/messages/run.js'
import type { Instant } from '../domain/values/instant.js'
import type {
  RecoveryCounts,
  RecoveryDecision,
  RecoveryProgress,
} from '../domain/webhooks/recovery.js'
import type { DeliveryFilter } from './delivery-store.js'
import type { Page, PageOf, Purge, Stored } from './stored.js'

/** Recoveries: tasks that redeliver all matches of a filter, a page per commit. */
export interface RecoveryStore {
  /**
   * Creates the recovery. Returns `limit_reached` if the project has `limit` recoveries that run,
   * try or are paused.
   */
  create(
    recovery: RecoveryTask,
    limit: number,
    audit?: AuditEntry,
  ): Stored<'created' | 'limit_reached'>
  get(projectId: string, id: string): Stored<Recovery | undefined>
  /** Lists recoveries, newest first. */
  list(projectId: string, page: PageOf): Stored<Page<Recovery>>
  /**
   * Changes the state as `decidedRecovery` says. A page that commits at the same time comes before
   * or not at all.
   */
  decide(
    projectId: string,
    id: string,
    decision: RecoveryDecision,
    now: Instant,
    audit?: AuditEntry,
  ): Stored<Recovery | 'too_late' | undefined>
  /**
   * Redelivers the next page, as `DeliveryStore.redeliver` does, of the running recovery whose last
   * page is the oldest. Stores the progress of `recoveryAfterPage` in the same commit, so no number
   * of processes, crashes and repeated calls does a page twice. From this commit on, the recovery
   * counts the deliveries that are due again, and no older recovery does. Leaves out the deliveries
   * of hooks, which no customer of a portal sees. Fails a recovery whose
   * webhook is deleted. Returns the recovery after the page, or undefined if none is running here. A
   * recovery whose page another process does now is skipped.
   *
   * A recovery that is `trying` redelivers the first match that is neither due nor being sent, and
   * lets only the webhook of that delivery be probed. When the delivery was attempted or has ended,
   * the next call changes the state as `triedState` says, or tries the next match.
   *
   * A recovery with an `agentId` retries the agent's failed messages, as `MessageStore.retry` does,
   * the oldest first and each at most once. While the agent does not run, or the sessions of all that
   * are left are full, the recovery has its next turn after `RETRY_PAUSE_MS`. Fails a recovery whose
   * agent is deleted. `countedAs` says where a message counts.
   *
   * A recovery with `webhookIds` reads up to `limit` events of the log, the oldest first. It makes a
   * delivery for each of the webhooks, as `isReplayed` says, which waits for no other. Fails if all
   * of the webhooks are deleted.
   */
  advance(step: RecoveryStep): Stored<RecoveryTask | undefined>
  /**
   * Cancels up to `limit` recoveries that were paused before `pausedBefore`. Stores the counts of up
   * to `limit` recoveries that do not run and have no open delivery, and ends them as
   * `recoveryState` says. Later changes of their deliveries do not change the counts. Returns these
   * recoveries.
   */
  settle(step: Settlement): Stored<readonly Recovery[]>
  /**
   * Deletes settled recoveries, and rows that only their counts needed. Returns the number of rows.
   */
  purge(purge: Purge): Stored<number>
}

export type RecoveryStep = {
  readonly limit: number
  readonly now: Instant
  /** The id of a new delivery for an event of the log. */
  readonly nextDeliveryId: () => string
  /** The address of the service, for thin bodies. */
  readonly serviceUrl?: string | undefined
}

export type Settlement = {
  readonly limit: number
  readonly now: Instant
  readonly pausedBefore: Instant
}

/** The reads return the counts and the state of their moment. */
export type Recovery = RecoveryTask &
  RecoveryCounts & {
    /** The delivery that was not accepted, of a paused recovery. Absent if it was deleted. */
    readonly triedDeliveryId?: string
    /** The number of the attempt that paused the recovery. */
    readonly triedAttempt?: number
  }

export type RecoveryTask = RecoveryProgress & {
  readonly id: string
  readonly projectId: string
  readonly filter: RecoveryFilter
  readonly createdAt: Instant
}

/** `createdBefore` is at most the creation of the recovery, so that it ends. */
export type RecoveryFilter = Omit<DeliveryFilter, 'projectId' | 'status' | 'createdBefore'> &
  Required<Pick<DeliveryFilter, 'status' | 'createdBefore'>> & {
    /** Retries the failed messages of this agent instead of deliveries. */
    readonly agentId?: string | undefined
    /** Only messages that failed with this error. */
    readonly errorCode?: RunError['code'] | undefined
    /** Sends events of the log to these webhooks instead. */
    readonly webhookIds?: readonly string[]
    /** Only events with these names, or of these groups. */
    readonly types?: readonly string[] | undefined
  }
