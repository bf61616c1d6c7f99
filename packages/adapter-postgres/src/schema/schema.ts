import { createHash } from 'node:crypto'
import { acceptIndependent } from './functions/accept-independent.js'
import { acceptMessages } from './functions/accept-messages.js'
import { advanceOrders } from './functions/advance-orders.js'
import { claimDeliveries } from './functions/claim-deliveries.js'
import { claimMessages } from './functions/claim-messages.js'
import { dueWebhooks } from './functions/due-webhooks.js'
import { endHooks } from './functions/end-hooks.js'
import { lockOrders } from './functions/lock-orders.js'
import { recordAttempts } from './functions/record-attempts.js'
import { requireReadCommitted } from './functions/require-read-committed.js'
import { settleRuns } from './functions/settle-runs.js'
import { subscribers } from './functions/subscribers.js'
import { tables } from './tables.js'

/** The database schema of a release. Its version is the number of migrations. */
export type Schema = {
  /** In order: the n-th migration leads from version n-1 to n. A released one never changes. */
  readonly migrations: readonly string[]
  /**
   * The text of each function, by name. A release that changes a text appends a migration, an empty
   * one if no table changes. The process that raises the version then applies the changed texts.
   *
   * A function with other parameters, results or effects gets a new name, because processes of the
   * previous release still call the old one. A later migration drops the old function.
   */
  readonly functions: Readonly<Record<string, string>>
}

export const schema: Schema = {
  migrations: [tables],
  functions: {
    require_read_committed: requireReadCommitted,
    accept_messages: acceptMessages,
    accept_independent: acceptIndependent,
    claim_messages: claimMessages,
    settle_runs: settleRuns,
    due_webhooks: dueWebhooks,
    claim_deliveries: claimDeliveries,
    end_hooks: endHooks,
    lock_orders: lockOrders,
    advance_orders: advanceOrders,
    record_attempts: recordAttempts,
    subscribers,
  },
}

/** Identifies the text of a migration or a function. The database keeps the hash of each. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')
