import type { Instant } from '../values/instant.js'

/**
 * Why a delivery is not sent: its webhook is disabled or deleted, paused, has an open circuit, is
 * at its limit in this process, or an earlier delivery of its session is open.
 */
export const HOLD_CAUSES = ['disabled', 'paused', 'circuit', 'limit', 'order'] as const
export type HoldCause = (typeof HOLD_CAUSES)[number]

/** Deliveries, and since when the first of them has been due. */
export type DueDeliveries = { readonly count: number; readonly oldestAt?: Instant }

type HeldDeliveries = { readonly [C in HoldCause]: DueDeliveries }

/** The open deliveries of one webhook. `oldestAt` is the least due time, which can be later. */
export type OpenQueue = {
  readonly webhookId: string
  readonly open: number
  readonly due: number
  readonly oldestAt: Instant
  readonly isDisabled: boolean
  readonly isPaused: boolean
  /** The end of an open circuit. In the past: the circuit is half-open. */
  readonly circuitUntil: Instant | null
}

export type OpenDeliveries = {
  readonly open: number
  readonly due: number
  readonly oldestDueAt?: Instant
  readonly held: HeldDeliveries
}

type Sum = { count: number; oldestAt: Instant }

/**
 * Adds up the queues. `limited` has the webhooks that are at their limit, and `waiting` the
 * deliveries that wait for their order. A half-open circuit lets one delivery through, since its
 * time has passed. It holds the others.
 */
export function openDeliveries(
  queues: readonly OpenQueue[],
  now: Instant,
  limited: Pick<ReadonlySet<string>, 'has'>,
  waiting: DueDeliveries,
): OpenDeliveries {
  const sums = Object.fromEntries(
    ['ready', ...HOLD_CAUSES].map((name) => [name, { count: 0, oldestAt: Infinity }]),
  ) as Record<HoldCause | 'ready', Sum>
  const add = (name: HoldCause | 'ready', count: number, oldestAt: Instant): void => {
    if (count === 0) return
    sums[name].count += count
    sums[name].oldestAt = Math.min(sums[name].oldestAt, oldestAt)
  }
  for (const queue of queues) {
    const { due, oldestAt, circuitUntil } = queue
    const cause = causeOf(queue, now, limited)
    const isProbed = cause === undefined && circuitUntil !== null && due > 0
    const ready = isProbed ? 1 : due
    add(cause ?? 'ready', ready, isProbed ? Math.max(oldestAt, circuitUntil) : oldestAt)
    add('circuit', due - ready, oldestAt)
  }
  add('order', waiting.count, waiting.oldestAt ?? Infinity)
  const { ready, ...held } = sums
  return {
    open: queues.reduce((sum, { open }) => sum + open, 0),
    due: ready.count,
    ...(ready.count > 0 && { oldestDueAt: ready.oldestAt }),
    held: Object.fromEntries(
      Object.entries(held).map(([cause, { count, oldestAt }]) => [
        cause,
        count > 0 ? { count, oldestAt } : { count },
      ]),
    ) as HeldDeliveries,
  }
}

function causeOf(
  { webhookId, isDisabled, isPaused, circuitUntil }: OpenQueue,
  now: Instant,
  limited: Pick<ReadonlySet<string>, 'has'>,
): HoldCause | undefined {
  if (isDisabled) return 'disabled'
  if (isPaused) return 'paused'
  if (circuitUntil !== null && circuitUntil > now) return 'circuit'
  return limited.has(webhookId) ? 'limit' : undefined
}
