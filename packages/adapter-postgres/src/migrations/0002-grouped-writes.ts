import { acceptMessages } from './0002/accept-messages.js'
import { claimDue, claimRunnable, dueLanes } from './0002/claims.js'
import { requireReadCommitted } from './0002/functions.js'
import { recordAttempts } from './0002/record-attempts.js'
import { recordRuns } from './0002/record-runs.js'
import { tables } from './0002/tables.js'

/**
 * What is written many at a time is written by functions: one round trip and one commit for all of them, with plans that a connection keeps
 * even where a pooler of transactions allows no prepared statements. A function that was released never changes: a release that needs
 * another one adds it under another name, since the one before may still be running.
 */
export const groupedWrites = [
  tables,
  requireReadCommitted,
  acceptMessages,
  recordRuns,
  recordAttempts,
  claimRunnable,
  dueLanes,
  claimDue,
].join('')
