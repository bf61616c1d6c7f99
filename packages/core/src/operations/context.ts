import type { AgentsContext } from '../agents/context.js'

/**
 * Operations reach every subject: a pass runs each worker once, an erasure frees waiting callers.
 */
export type OperationsContext = AgentsContext
