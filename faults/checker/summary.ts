import { isAccepted } from './acknowledged.js'
import { eventOf } from './event-of.js'
import { groupBy } from './group-by.js'
import type { FinalEvent, History } from './history.js'
import { endOf, getsPublished, isSuccess } from './outbox.js'
import { isPublished } from './published.js'
import { repeatsAfterKills, type Repeats } from './repeats.js'

/** The figures of a run. */
export type Summary = {
  readonly seed: number
  /** Number of faults by kind. */
  readonly faults: Readonly<Record<string, number>>
  /** Requests of clients, and messages with a 2xx. */
  readonly requests: number
  readonly accepted: number
  /** Messages with an answer, and deliveries that ended with a 2xx. */
  readonly answered: number
  readonly delivered: number
  /** Requests to receivers. `duplicates` counts successes after the first one of a delivery. */
  readonly received: number
  readonly duplicates: number
  readonly repeats: Repeats
  /** Accepted messages without an end, and ends that a subscribed receiver did not accept. */
  readonly lost: number
  readonly events: EventSummary
}

/** Published events. An erased event is none of them. */
type EventSummary = {
  /** Events with a 202. */
  readonly accepted: number
  readonly replays: number
  readonly refused: number
  /** Accepted events that the log has not, or that a subscribed receiver did not accept. */
  readonly lost: number
  /** Events that the log has more than once. */
  readonly doubled: number
  readonly erased: number
}

export function summarize(history: History): Summary {
  const { seed, requests, received, faults, final } = history
  const successes = groupBy(
    received.filter(({ answer }) => isSuccess(answer)),
    ({ headers }) => headers['webhook-id'],
  )
  return {
    seed,
    faults: Object.fromEntries(
      [...groupBy(faults, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length]),
    ),
    requests: requests.length,
    accepted: acceptedIds(history).size,
    answered: final.messages.filter(({ state }) => state === 'responded').length,
    delivered: final.deliveries.filter(({ status }) => status === 'delivered').length,
    received: received.length,
    duplicates: [...successes.values()].reduce((sum, { length }) => sum + length - 1, 0),
    repeats: repeatsAfterKills(history),
    lost: lostMessages(history) + lostReports(history),
    events: summaryOfEvents(history),
  }
}

const acceptedIds = ({ requests }: History): Set<string> =>
  new Set(requests.filter(isAccepted).map(({ answer }) => answer?.messageId ?? ''))

function lostMessages(history: History): number {
  const ended = new Set(
    history.final.messages.filter((message) => endOf(message)).map(({ messageId }) => messageId),
  )
  return [...acceptedIds(history)].filter((messageId) => !ended.has(messageId)).length
}

function lostReports({ received, final: { messages, webhooks } }: History): number {
  const taken = received
    .filter(({ answer }) => isSuccess(answer))
    .map(({ webhookId, body }) => ({ webhookId, ...eventOf(body) }))
  const arrived = new Set(
    taken.map(({ webhookId, event, messageId }) => `${webhookId} ${event} ${messageId}`),
  )
  const due = messages.flatMap((message) =>
    webhooks
      .filter(({ events }) => events.includes('*') || events.includes(endOf(message) ?? ''))
      .map(({ webhookId }) => `${webhookId} ${endOf(message)} ${message.messageId}`),
  )
  return due.filter((report) => !arrived.has(report)).length
}

function summaryOfEvents({
  published = [],
  erasures = [],
  received,
  final,
}: History): EventSummary {
  const persons = new Set(erasures.map(({ endUserId }) => endUserId))
  const asked = published.filter(isPublished).flatMap((request) => request.events)
  const kept = asked.filter(({ endUserId }) => !persons.has(endUserId ?? ''))
  const accepted = new Set(kept.map(({ text }) => text))
  const arrived = new Set(
    received
      .filter(({ answer }) => isSuccess(answer))
      .map(({ webhookId, body }) => `${webhookId} ${eventOf(body)?.eventId}`),
  )
  const events = final.events ?? []
  const isDelivered = (event: FinalEvent): boolean =>
    final.webhooks
      .filter((webhook) => !webhook.isTemporary && getsPublished(webhook, event))
      .every(({ webhookId }) => arrived.has(`${webhookId} ${event.id}`))
  const texts = groupBy(events, ({ text }) => text)
  return {
    accepted: accepted.size,
    replays: published.filter(({ answer }) => answer?.replayed).length,
    refused: published.filter(({ answer }) => answer?.status === 422).length,
    lost: [...accepted].filter((text) => !texts.get(text)?.every(isDelivered)).length,
    doubled: [...texts.values()].filter((same) => same.length > 1).length,
    erased: new Set(asked.map(({ text }) => text)).size - accepted.size,
  }
}
