import { acceptMessages } from './0004/accept-messages.js'
import { claimDue, claimRunnable, dueLanes } from './0004/claims.js'
import { recordAttempts } from './0004/record-attempts.js'
import { recordRuns, settleRuns } from './0004/record-runs.js'

const withoutCheck = `
-- An attempt is made while its delivery is locked. The check would find that once more, by an index of its own choice.
alter table agent_messaging.attempts drop constraint attempts_delivery_seq_fkey;
`

/**
 * The functions of 0002 in words that leave the planner no choice. They take, do and give what they did, so the release before goes on
 * with them, and gains as much.
 */
export const plansForAnySize = [
  withoutCheck,
  acceptMessages,
  settleRuns,
  recordRuns,
  recordAttempts,
  claimRunnable,
  dueLanes,
  claimDue,
].join('')
