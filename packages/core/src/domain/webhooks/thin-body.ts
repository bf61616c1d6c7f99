import { toIso } from '../values/instant.js'
import type { WebhookEvent } from './event.js'
import { isPublished } from './event-name.js'
import type { Webhook } from './webhook.js'

/** The data of an event of the service can have these ids. */
const IDS = ['messageId', 'agentId', 'sessionId', 'webhookId', 'deliveryId', 'eventId'] as const
type EventIds = { readonly [Id in (typeof IDS)[number]]?: string }

/**
 * Returns the bytes of a new delivery to the webhook if they are not the event's: with
 * `payload: "thin"` ids and the URL of the event. Every attempt of the delivery sends these bytes.
 */
export function ownBody(
  { payload }: Pick<Webhook, 'payload'>,
  event: WebhookEvent,
): string | undefined {
  if (payload === 'full') return undefined
  const { id, name, createdAt } = event
  const data = { ...idsOf(event), url: urlOf(event) }
  return JSON.stringify({ event: name, id, createdAt: toIso(createdAt), data })
}

/** A host can have put any text under these names into the data of its event. */
function idsOf(event: WebhookEvent): EventIds {
  const { agentId, sessionId, data = {} } = event
  const from: EventIds = isPublished(event.name) ? { agentId, sessionId } : data
  return Object.fromEntries(IDS.map((name) => [name, from[name]]))
}

/** The path alone if the service does not know its address. */
const urlOf = ({ id, serviceUrl = '' }: WebhookEvent): string =>
  `${serviceUrl.replace(/\/+$/, '')}/v1/events/${encodeURIComponent(id)}`
