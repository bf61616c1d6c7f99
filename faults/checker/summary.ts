import { isAccepted } from './acknowledged.js'
import { eventOf } from './event-of.js'
import { groupBy } from './group-by.js'
import type { History } from './history.js'
import { endOf, isSuccess } from './outbox.js'
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
