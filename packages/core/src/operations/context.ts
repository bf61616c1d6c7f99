import type { AgentsContext } from '../agents/context.js'
import type { EarlierReads } from '../messages/earlier-reads.js'
import type { InputDeadlines } from '../messages/input-deadlines.js'
import type { WebhooksContext } from '../webhooks/context.js'

/**
 * Operations reach every subject: a pass runs each worker once, an erasure frees waiting callers.
 */
export type OperationsContext = AgentsContext &
  Pick<WebhooksContext, 'recoveryRunner'> & {
    readonly inputDeadlines: InputDeadlines
    readonly earlierReads: EarlierReads
  }
