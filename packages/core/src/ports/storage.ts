import type { JumpReport, MoveResult } from '../domain/operations/clock-jump.js'
import type { Invalid } from '../domain/values/input-rules.js'
import type { Instant } from '../domain/values/instant.js'
import type { AgentStore } from './agent-store.js'
import type { AuditStore } from './audit-store.js'
import type { CountsStore } from './counts-store.js'
import type { CredentialStore } from './credential-store.js'
import type { DeliveryStore } from './delivery-store.js'
import type { EventStore } from './event-store.js'
import type { EventTypeStore } from './event-type-store.js'
import type { MessageStore } from './message-store.js'
import type { PortResult } from './port-result.js'
import type { PortalStore } from './portal-store.js'
import type { RecoveryStore } from './recovery-store.js'
import type { Stored, Unavailable } from './stored.js'
import type { WebhookStore } from './webhook-store.js'

/**
 * Stores everything. Each method is one atomic, durable operation: when it resolves with a value,
 * all of it has happened; otherwise none of it, or the result is `Unavailable`. Core opens no
 * transaction and batches nothing: adapters combine concurrent calls. Core can repeat every write
 * after `Unavailable`. A row of another project is answered like a missing row.
 */
export interface Storage {
  readonly messages: MessageStore
  readonly deliveries: DeliveryStore
  readonly recoveries: RecoveryStore
  readonly events: EventStore
  readonly eventTypes: EventTypeStore
  readonly webhooks: WebhookStore
  readonly agents: AgentStore
  readonly credentials: CredentialStore
  readonly audit: AuditStore
  readonly portals: PortalStore
  readonly counts: CountsStore
  /**
   * True if no other process had the database open. Rows marked running are then leftovers of a
   * crash. Absent if the store cannot tell.
   */
  readonly alone?: boolean
  /** The work that the open released from processes that ended without a stop, if any. */
  readonly takenOver?: TakenOver
  /**
   * When the storage was last written, by the clock of that time. If that lies ahead, the clock
   * was set back since. Absent if the store cannot tell.
   */
  readonly lastWriteAt?: Instant
  /** The number of the last move of the times, at the open. Default: 0. */
  readonly lastMove?: number
  /**
   * Moves every due time with the time of day, as `afterJump` says: leases, backoffs, deadlines of
   * deferred messages, retries, open circuits, and the grace periods of secrets. Moves them once
   * for each jump: changes nothing if `decideMove` returns no moves to remember.
   */
  moveTimes(report: JumpReport): Stored<MoveResult>
  /** Checks that reads and writes work now. */
  ping(): Stored<void>
  /** Waits for running writes. Later calls are `Unavailable`. */
  close(): Promise<void>
}

/** Counts of rows: runs, attempts, and agents that a process owned. */
export type TakenOver = {
  readonly messages: number
  readonly deliveries: number
  readonly agents: number
}

/**
 * The two store methods that accept a message: the storage itself, or an adapter's view of a
 * host's transaction.
 */
export type AcceptStores = {
  readonly agents: { get: OrInvalid<AgentStore['get']> }
  readonly messages: { accept: OrInvalid<MessageStore['accept']> }
}

/** The store methods that publish, in the same places. */
export type PublishStore = {
  readonly events: { publish: OrInvalid<EventStore['publish']> }
  readonly eventTypes: { find: OrInvalid<EventTypeStore['find']> }
}

/** An open transaction of a host. */
export type HostTransaction = AcceptStores &
  PublishStore & {
    /** Calls `hear` after the transaction has ended. A storage that cannot tell never calls it. */
    onEnd(hear: () => void): void
  }

/** A host's transaction can be one in which no message can be accepted. */
type OrInvalid<Call> = Call extends (...input: infer Input) => Stored<infer Value>
  ? (...input: Input) => Promise<PortResult<Value, Unavailable | Invalid>>
  : never
