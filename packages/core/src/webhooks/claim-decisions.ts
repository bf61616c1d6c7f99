import type { DeliverPolicy } from '../policy.js'
import { claimShare, retryShare } from './fair-queue.js'

/** The most that one claim takes: in all, of each webhook, of each project, and of retries. */
export type ClaimBounds = {
  readonly limit: number
  readonly perWebhook: number
  readonly perProject: number
  readonly retries: number
}

type Held = { readonly room: number; readonly waitingRetries: number }

export const decideClaimBounds = (policy: DeliverPolicy, held: Held): ClaimBounds => ({
  limit: held.room,
  perWebhook: claimShare(policy),
  perProject: claimShare(policy),
  retries: Math.max(0, retryShare(policy.prefetch) - held.waitingRetries),
})

/**
 * A claim that stays below every bound has taken all that is due, except of webhooks that have no
 * more room, and retries when it asked for none.
 */
export const canMoreBeDue = (bounds: ClaimBounds, claimed: number): boolean =>
  bounds.retries === 0 || (claimed > 0 && claimed >= Math.min(...Object.values(bounds)))

/**
 * Whether to claim now. A claim waits until half of the prefetched deliveries have started: large
 * claims at a low level keep the senders waiting.
 */
export const shouldClaimAgain = (state: {
  readonly isClaiming: boolean
  readonly moreDue: boolean
  readonly waiting: number
  readonly prefetch: number
}): boolean => !state.isClaiming && state.moreDue && state.waiting < state.prefetch / 2
