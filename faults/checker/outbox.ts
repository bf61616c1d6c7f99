import { eventOf } from './event-of.js'
import { groupBy } from './group-by.js'
import type { FinalEvent, FinalMessage, FinalWebhook, History } from './history.js'
import type { Breach, Invariant } from './violation.js'

/**
 * 3. Each event has one delivery per subscribed webhook, beside those of replays. Each end of a
 * message is one event.
 */
export const outbox: Invariant = function* (history) {
  const { final } = history
  const reported = final.deliveries.map((delivery) => ({ ...delivery, ...eventOf(delivery.body) }))
  for (const [event, deliveries] of groupBy(
    reported.filter(({ isReplayed }) => !isReplayed),
    ({ webhookId, eventId }) => `${eventId} to ${webhookId}`,
  ))
    if (deliveries.length > 1)
      yield { of: event, problem: `${deliveries.length} deliveries of one event to one webhook` }

  const webhooks = new Map(final.webhooks.map((webhook) => [webhook.webhookId, webhook]))
  const messages = new Set(final.messages.map(({ messageId }) => messageId))
  for (const { deliveryId, webhookId, event = '', messageId } of reported) {
    if (!isSubscribed(webhooks.get(webhookId), event))
      yield { of: deliveryId, problem: `its webhook is not subscribed to "${event}"` }
    if (messageId !== undefined && !messages.has(messageId))
      yield { of: deliveryId, problem: 'its message does not exist' }
  }

  if (final.purgedBefore === undefined) yield* ofPublished(history, reported)

  const byMessage = groupBy(
    reported,
    ({ messageId, webhookId, event = '' }) => `${messageId} ${webhookId} ${kindOf(event)}`,
  )
  for (const message of final.messages) {
    for (const [event, ends] of endsOf(message)) {
      for (const { webhookId } of final.webhooks.filter(
        (webhook) => !webhook.isTemporary && isSubscribed(webhook, event),
      )) {
        const count =
          byMessage.get(`${message.messageId} ${webhookId} ${kindOf(event)}`)?.length ?? 0
        if (count === ends || (count === 0 && isPurged(history, message, webhookId))) continue
        yield {
          of: message.messageId,
          problem: `webhook ${webhookId} has ${count} deliveries for ${ends} ends with ${event}`,
        }
      }
    }
  }
}

/** Each published event has one delivery for each webhook that subscribes to it, and no other. */
function* ofPublished(
  { final: { events = [], webhooks } }: History,
  reported: readonly { readonly webhookId: string; readonly eventId?: string }[],
): Generator<Breach> {
  const made = new Set(reported.map(({ eventId, webhookId }) => `${eventId} ${webhookId}`))
  for (const event of events)
    for (const webhook of webhooks.filter(({ isTemporary }) => !isTemporary)) {
      const isMade = made.has(`${event.id} ${webhook.webhookId}`)
      if (isMade !== getsPublished(webhook, event))
        yield {
          of: event.id,
          problem: `webhook ${webhook.webhookId} has ${isMade ? 'a' : 'no'} delivery of it`,
        }
    }
}

/** Returns true if the subscription and the filter of the webhook match the event. */
export const getsPublished = (webhook: FinalWebhook, { type, kind }: FinalEvent): boolean =>
  isSubscribed(webhook, type) && (webhook.kind === undefined || webhook.kind === kind)

/** A test event goes to a webhook without its subscription. */
const isSubscribed = (webhook: FinalWebhook | undefined, event: string | undefined): boolean =>
  event === 'webhook.test' || (webhook?.events.some((one) => includes(one, event)) ?? false)

export const includes = (subscription: string, event = ''): boolean =>
  subscription === '*' ||
  subscription === event ||
  (subscription.endsWith('.*') && event.startsWith(subscription.slice(0, -1)))

/** Counts the ends of a message by event. A message that was retried has ended before. */
function endsOf(message: FinalMessage): Map<string, number> {
  const { retries = 0 } = message
  const last = endOf(message)
  const errors = retries + (last === 'agent.error' ? 1 : 0)
  const ends = new Map<string, number>()
  if (last === 'message.responded') ends.set(last, 1)
  if (errors > 0) ends.set('agent.error', errors).set('message.failed', errors)
  return ends
}

/** An earlier end of a retried message is a failure or a cancellation: counts them together. */
const kindOf = (event: string): string => (event === 'message.cancelled' ? 'message.failed' : event)

/** Returns the event of a message's final state. */
export function endOf({ state }: FinalMessage): string | undefined {
  if (state === 'responded') return 'message.responded'
  return state === 'failed' || state === 'cancelled' ? 'agent.error' : undefined
}

/** Returns true if the delivery arrived and its retention has ended. */
function isPurged(
  { received, final: { purgedBefore = 0 } }: History,
  { messageId, endedAt = Infinity }: FinalMessage,
  webhookId: string,
): boolean {
  if (endedAt >= purgedBefore) return false
  return received.some(
    ({ webhookId: at, body, answer }) =>
      at === webhookId && isSuccess(answer) && eventOf(body)?.messageId === messageId,
  )
}

export const isSuccess = (answer: { readonly status: number } | undefined): boolean =>
  answer !== undefined && answer.status >= 200 && answer.status < 300
