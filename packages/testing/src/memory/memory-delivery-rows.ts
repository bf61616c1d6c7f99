import type { Instant } from '@org/agent-messaging-core'
import { changedAt } from '@org/agent-messaging-core/host'
import {
  countedAs,
  hasStatus,
  isFinal,
  type DeliveryState,
  type WebhookEvent,
  type RedeliverFilter,
} from '@org/agent-messaging-core/storage'
import type { DeliveryRow, Memory, MessageRow } from './memory.js'

export const isOpen = ({ kind }: DeliveryState): boolean =>
  kind === 'pending' || kind === 'sending' || kind === 'waiting'

export const isRetry = ({ delivery }: DeliveryRow): boolean => delivery.attemptCount > 0

/** When the delivery can be claimed. Infinity for a final or waiting delivery. */
export function dueAt({ delivery: { state } }: DeliveryRow): Instant {
  if (state.kind === 'pending') return state.nextAttemptAt
  return state.kind === 'sending' ? state.leaseUntil : Infinity
}

/** Infinity for an open delivery. */
export function finishedAt(state: DeliveryState): Instant {
  switch (state.kind) {
    case 'delivered':
      return state.deliveredAt
    case 'exhausted':
      return state.exhaustedAt
    case 'cancelled':
      return state.cancelledAt
    default:
      return Infinity
  }
}

/** Lets the recovery keep the count of a message that leaves it. */
export function leaveRetried({ recoveries }: Memory, { recovery, message }: MessageRow): void {
  const older = recoveries.get(recovery ?? '')
  const as = countedAs(message)
  const kind = as === 'delivered' || as === 'exhausted' ? as : 'cancelled'
  const end = isFinal(message.state) ? changedAt(message) : 0
  if (older && !older.settled) older.leavers.push({ kind, finishedAt: end })
}

/** Lets the recovery keep the count of a delivery that leaves it. */
export function leaveRecovery({ recoveries }: Memory, { recovery, delivery }: DeliveryRow): void {
  const older = recoveries.get(recovery?.id ?? '')
  const { kind } = delivery.state
  const isEnded = kind === 'delivered' || kind === 'exhausted'
  const end = isOpen(delivery.state) ? 0 : finishedAt(delivery.state)
  if (older && !older.settled)
    older.leavers.push({ kind: isEnded ? kind : 'cancelled', finishedAt: end })
}

export function removeDelivery(memory: Memory, id: string): void {
  const row = memory.deliveries.get(id)
  if (row) leaveRecovery(memory, row)
  memory.deliveries.delete(id)
}

export function matches(
  row: DeliveryRow,
  filter: RedeliverFilter,
  event: WebhookEvent | undefined,
): boolean {
  const { createdAfter = -Infinity, createdBefore = Infinity } = filter
  const { id, projectId, webhookId, eventId, event: name, state, createdAt } = row.delivery
  const isEqual = <T>(wanted: T | undefined, value: T | undefined): boolean =>
    wanted === undefined || wanted === value
  return (
    projectId === filter.projectId &&
    isEqual(filter.deliveryId, id) &&
    isEqual(filter.webhookId, webhookId) &&
    isEqual(filter.eventId, eventId) &&
    isEqual(filter.messageId, event?.messageId) &&
    isEqual(filter.sessionId, event?.sessionId) &&
    isEqual(filter.event, name) &&
    (filter.status === undefined || hasStatus(state, filter.status)) &&
    createdAt >= createdAfter &&
    createdAt < createdBefore &&
    isEqual<string>(filter.lastAnswer, lastAnswerOf(row))
  )
}

function lastAnswerOf({ attempts }: DeliveryRow): string | undefined {
  const outcome = attempts.at(-1)?.outcome
  if (!outcome) return undefined
  return outcome.kind === 'unreachable' ? 'none' : `${Math.floor(outcome.statusCode / 100)}xx`
}
