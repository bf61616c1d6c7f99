import type { Instant } from './instant.js'
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
type DeliveryClaim = { readonly until: Instant; readonly except: Pick<ReadonlySet<string>, 'has'> }

/**
 * Returns when the claim of a new delivery ends, or undefined if the delivery waits for a claim. A
 * disabled webhook and one with an open circuit get no claimed deliveries.
 */
export function newDeliveryClaim(
  { id, projectId, status, health }: Pick<Webhook, 'id' | 'projectId' | 'status' | 'health'>,
  claim: DeliveryClaim | undefined,
): Instant | undefined {
  const isReady = status.kind === 'enabled' && health.circuit.kind === 'closed'
  if (!claim || !isReady || claim.except.has(id) || claim.except.has(projectId)) return undefined
  return claim.until
}
