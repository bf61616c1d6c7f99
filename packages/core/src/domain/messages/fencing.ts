import type { Outcome } from '../webhooks/delivery.js'
import type { MessageStateKind } from './message.js'

type Run = {
  readonly state: MessageStateKind
  /** The token of the session's newest claim. */
  readonly lease: number
  /** True if no open message of the session is ahead. */
  readonly isHead: boolean
}

/** True if the token holds the run. A lease that has ended is still good until the next claim. */
export const holdsRun = ({ state, lease, isHead }: Run, token: number): boolean =>
  lease === token && isHead && (state === 'running' || state === 'deferred')

type Delivery = {
  /** False if the delivery is final. */
  readonly isOpen: boolean
  readonly isClaimed: boolean
  /** The token of the newest claim. */
  readonly lease: number
}

/**
 * True if the store records the attempt. Only the holder of the claim can record a failed attempt.
 * An accepted attempt always counts for an open delivery, because the receiver has the event.
 */
export const attemptCounts = (
  { isOpen, isClaimed, lease }: Delivery,
  token: number,
  outcome: Outcome['kind'],
): boolean => isOpen && (outcome === 'accepted' || (isClaimed && lease === token))
