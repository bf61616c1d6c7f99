import type { AgentStore } from './agent-store.js'
import type { CredentialStore } from './credential-store.js'
import type { DeliveryStore } from './delivery-store.js'
import type { MessageStore } from './message-store.js'
import type { Stored } from './stored.js'
import type { WebhookStore } from './webhook-store.js'

/**
 * Everything that is kept. Each method of each store is one atomic meaning: it happens whole and durably before its
 * result is Ok, or not at all. The core never opens a transaction and never batches; adapters coalesce concurrent calls.
 * Every write may be repeated after `Unavailable`. A row of another project answers as a missing one.
 */
export interface Storage {
  readonly messages: MessageStore
  readonly deliveries: DeliveryStore
  readonly webhooks: WebhookStore
  readonly agents: AgentStore
  readonly credentials: CredentialStore
  /** Nobody else had it open when it was opened: what it says is running was left so. Absent where that cannot be told. */
  readonly alone?: boolean
  /** Whether reads and writes work now. */
  ping(): Stored<void>
  /** Waits for writes under way; later calls are `Unavailable`. */
  close(): Promise<void>
}

/** The two store methods that accept a message: the storage itself, or an adapter's view of a host's transaction. */
export type AcceptStores = {
  readonly agents: Pick<AgentStore, 'get'>
  readonly messages: Pick<MessageStore, 'accept'>
}
