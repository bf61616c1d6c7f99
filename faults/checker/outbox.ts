import { eventOf } from './event-of.js'
import { groupBy } from './group-by.js'
import type { FinalMessage, FinalWebhook, History } from './history.js'
import type { Invariant } from './violation.js'

/** 3. The deliveries are the subscribed webhooks × the events, and each end of a message is one event. */
export const outbox: Invariant = function* (history) {
  const { final } = history
  const reported = final.deliveries.map((delivery) => ({ ...delivery, ...eventOf(delivery.body) }))
  for (const [event, deliveries] of groupBy(
    reported,
    ({ webhookId, eventId }) => `${eventId} to ${webhookId}`,
  ))
    if (deliveries.length > 1)
      yield { of: event, what: `${deliveries.length} deliveries of one event to one webhook` }

  const webhooks = new Map(final.webhooks.map((webhook) => [webhook.webhookId, webhook]))
  const messages = new Set(final.messages.map(({ messageId }) => messageId))
  for (const { deliveryId, webhookId, event = '', messageId } of reported) {
    if (!isSubscribed(webhooks.get(webhookId), event))
      yield { of: deliveryId, what: `its webhook is not subscribed to "${event}"` }
    if (messageId !== undefined && !messages.has(messageId))
      yield { of: deliveryId, what: `it reports a message that does not exist` }
  }

  const byMessage = groupBy(
    reported,
    ({ messageId, webhookId, event }) => `${messageId} ${webhookId} ${event}`,
  )
  for (const message of final.messages) {
    for (const [event, ends] of endsOf(message)) {
      for (const { webhookId } of final.webhooks.filter(
        (webhook) => !webhook.isVisitor && isSubscribed(webhook, event),
      )) {
        const count = byMessage.get(`${message.messageId} ${webhookId} ${event}`)?.length ?? 0
        if (count === ends || (count === 0 && isPurged(history, message, webhookId))) continue
        yield {
          of: message.messageId,
          what: `${ends} ends with ${event} were reported to webhook ${webhookId} by ${count} deliveries`,
        }
      }
    }
  }
}

const isSubscribed = (webhook: FinalWebhook | undefined, event: string | undefined): boolean =>
  event !== undefined && (webhook?.events.some((name) => name === '*' || name === event) ?? false)

/** How often it ended with each event: it may have failed, been put back and been answered then. */
function endsOf(message: FinalMessage): Map<string, number> {
  const { retries = 0 } = message
  const ends = new Map(retries > 0 ? [['agent.error', retries]] : [])
  const last = endOf(message)
  return last === undefined ? ends : ends.set(last, (ends.get(last) ?? 0) + 1)
}

/** The event that ends a message in its state. */
export function endOf({ state }: FinalMessage): string | undefined {
  if (state === 'responded') return 'message.responded'
  return state === 'failed' || state === 'cancelled' ? 'agent.error' : undefined
}

/** What is past its retention may be gone, once it has arrived. */
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
