import { eventOf } from './event-of.js'
import { groupBy } from './group-by.js'
import type { FinalEvent, FinalWebhook, History, Replay } from './history.js'
import { getsPublished, includes } from './outbox.js'
import { isPublished } from './published.js'
import type { Invariant } from './violation.js'

/** 14. A replay makes one delivery of each event that it asks for, for each of its webhooks. */
export const replayed: Invariant = function* (history) {
  const { replays = [], final } = history
  const made = groupBy(
    final.deliveries.filter(({ isReplayed }) => isReplayed),
    ({ webhookId, body }) => `${eventOf(body)?.eventId} to ${webhookId}`,
  )
  for (const event of final.events ?? []) {
    const acceptedAt = firstAnswer(history, event)
    for (const webhook of final.webhooks) {
      const asked = replays.filter((replay) => asksFor(replay, webhook, event))
      const sure = asked.filter(({ isDone, at }) => isDone && acceptedAt < at)
      const of = `${event.id} to ${webhook.webhookId}`
      const count = made.get(of)?.length ?? 0
      if (count > asked.length || (count < sure.length && !webhook.isTemporary))
        yield { of, problem: `${count} deliveries, expected ${sure.length} to ${asked.length}` }
    }
  }
}

const asksFor = (
  { webhookIds, types, createdAfter, createdBefore }: Replay,
  webhook: FinalWebhook,
  event: FinalEvent,
): boolean =>
  webhookIds.includes(webhook.webhookId) &&
  types.some((type) => includes(type, event.type)) &&
  event.createdAt >= createdAfter &&
  event.createdAt < createdBefore &&
  getsPublished(webhook, event)

const firstAnswer = ({ published = [] }: History, { text }: FinalEvent): number =>
  Math.min(
    ...published.flatMap(({ answer, ...request }) =>
      answer && isPublished({ answer, ...request }) && request.events.some((e) => e.text === text)
        ? answer.at
        : [],
    ),
  )
