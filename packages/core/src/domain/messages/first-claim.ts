import type { Instant } from '../values/instant.js'
import { leaseEnd, type LeaseTerms } from '../webhooks/sending.js'
import { untried } from '../webhooks/webhook-health.js'
import { receiverIdOf, type Webhook } from '../webhooks/webhook.js'

/**
 * Returns when the claim of a new message ends, or undefined if the message is queued. The message
 * starts at once if the caller claims it and no open message of its session is ahead of it.
 */
export const newMessageClaim = (
  claimUntil: Instant | undefined,
  isHead: boolean,
): Instant | undefined => (isHead ? claimUntil : undefined)

/** A claim on new deliveries. `except` contains ids of webhooks and of projects. */
type DeliveryClaim = LeaseTerms & { readonly except: ReadonlySet<string> }
/** `until`: the end of the claim. `skipped`: the id in `except` that prevented it. */
type NewClaim = { readonly until?: Instant; readonly skipped?: string }
const UNCLAIMED: NewClaim = {}
/** The claims of a change without events. */
export const NO_CLAIMS = { deliveries: [], skipped: [] } as const

/**
 * Returns the claim of a new delivery. Without `until` the delivery waits for a claim. A webhook
 * that is disabled, paused or has an open circuit gets no claimed deliveries.
 */
export function newDeliveryClaim(
  webhook: Pick<
    Webhook,
    'id' | 'projectId' | 'url' | 'hook' | 'status' | 'isPaused' | 'health' | 'sending'
  >,
  claim: DeliveryClaim | undefined,
): NewClaim {
  const { projectId, status, isPaused, health } = webhook
  const isReady = status.kind === 'enabled' && !isPaused && health.circuit.kind === 'closed'
  if (!claim || !isReady) return UNCLAIMED
  const receiverId = receiverIdOf(webhook)
  if (claim.except.has(receiverId)) return { skipped: receiverId }
  if (claim.except.has(projectId)) return { skipped: projectId }
  return { until: leaseEnd(claim, webhook) }
}

/** Returns the claim of a test event, which is the probe of an open circuit. */
export const newTestClaim = (
  webhook: Parameters<typeof newDeliveryClaim>[0],
  claim: DeliveryClaim | undefined,
): NewClaim => newDeliveryClaim({ ...webhook, health: untried }, claim)
