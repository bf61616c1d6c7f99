import type { Instant } from './instant.js'
import { leaseEnd, type LeaseTerms } from './sending.js'
import type { Webhook } from './webhook.js'

/**
 * Returns when the claim of a new message ends, or undefined if the message is queued. The message
 * starts at once if the caller claims it and no open message of its session is ahead of it.
 */
export const newMessageClaim = (
  claimUntil: Instant | undefined,
  isHead: boolean,
): Instant | undefined => (isHead ? claimUntil : undefined)

/** A claim on new deliveries. `except` contains ids of webhooks and of projects. */
type DeliveryClaim = LeaseTerms & { readonly except: Pick<ReadonlySet<string>, 'has'> }

/**
 * Returns when the claim of a new delivery ends, or undefined if the delivery waits for a claim. A
 * webhook that is disabled, paused or has an open circuit gets no claimed deliveries.
 */
export function newDeliveryClaim(
  webhook: Pick<Webhook, 'id' | 'projectId' | 'status' | 'isPaused' | 'health' | 'sending'>,
  claim: DeliveryClaim | undefined,
): Instant | undefined {
  const { id, projectId, status, isPaused, health } = webhook
  const isReady = status.kind === 'enabled' && !isPaused && health.circuit.kind === 'closed'
  if (!claim || !isReady || claim.except.has(id) || claim.except.has(projectId)) return undefined
  return leaseEnd(claim, webhook)
}
