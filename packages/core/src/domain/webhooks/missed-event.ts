import type { Instant } from '../values/instant.js'
import { isJsonObject, type Json } from '../values/json.js'
import { subscribesTo } from './event-name.js'
import { unmetCondition, type FilteredEvent } from './webhook-filter.js'
import type { Webhook } from './webhook.js'

/** An event, as the settings of webhooks see it. */
export type SeenEvent = FilteredEvent & {
  readonly name: string
  readonly createdAt: Instant
  readonly messageId?: string
}

/** Why a webhook has no delivery of an event. `no_delivery`: its settings match. */
export type Missed =
  | { readonly cause: 'created_later' | 'not_subscribed' | 'not_sent_to' | 'no_delivery' }
  | { readonly cause: 'filtered_out'; readonly condition: string }

const FIELDS = ['agentId', 'sessionId', 'messageId'] as const

/** Reads the event from its body, which has what filters look at. */
export function seenEvent(
  name: string,
  { body, createdAt }: { readonly body: string; readonly createdAt: Instant },
): SeenEvent {
  const { data } = JSON.parse(body) as { readonly data: { readonly [name: string]: Json } }
  const { metadata } = data
  const texts = FIELDS.flatMap((field) => {
    const text = data[field]
    return typeof text === 'string' ? [[field, text]] : []
  })
  return {
    name,
    createdAt,
    data,
    ...Object.fromEntries(texts),
    ...(metadata !== undefined && isJsonObject(metadata) && { metadata }),
  }
}

/** Says by the present settings of the webhook why it has no delivery of the event. */
export function whyMissed(
  { id, createdAt, events, filter }: Pick<Webhook, 'id' | 'createdAt' | 'events' | 'filter'>,
  event: SeenEvent,
): Missed {
  if (createdAt > event.createdAt) return { cause: 'created_later' }
  if (!subscribesTo(events, event.name)) return { cause: 'not_subscribed' }
  if (isNotSentTo(id, event)) return { cause: 'not_sent_to' }
  const condition = unmetCondition(filter, event)
  return condition === undefined ? { cause: 'no_delivery' } : { cause: 'filtered_out', condition }
}

/** A test goes to one webhook. An event about a webhook goes to the others. */
function isNotSentTo(id: string, { name, data }: SeenEvent): boolean {
  if (name === 'webhook.test') return true
  const { webhookId }: { readonly webhookId?: Json } = { ...data }
  return /^(?:webhook|delivery)\./.test(name) && webhookId === id
}
