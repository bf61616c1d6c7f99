import type { AnswerParts } from '../messages/part.js'
import { shownParts } from '../messages/shown-message.js'
import { frozen, type WebhookEvent } from './event.js'
import { isPublished } from './event-name.js'
import type { Webhook } from './webhook.js'

/** The data of an event of the service can have these ids. */
const IDS = ['messageId', 'agentId', 'sessionId', 'webhookId', 'deliveryId', 'eventId'] as const
type EventIds = { readonly [Id in (typeof IDS)[number]]?: string }

/**
 * Returns the bytes of a new delivery to the webhook if they are not the event's: with
 * `payload: "thin"` ids and the URL of the event, with `parts` those of the answer too. Every
 * attempt of the delivery sends these bytes.
 */
export function ownBody(
  { payload }: Pick<Webhook, 'payload'>,
  event: WebhookEvent,
): string | undefined {
  if (payload === 'full') return undefined
  if (payload === 'parts') return event.partsBody
  const { id, name, createdAt } = event
  return frozen(name, id, createdAt, { ...idsOf(event), url: urlOf(event) })
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

/** In characters. One commit stores the body for each of 100 webhooks. */
export const MAX_PARTS_BODY = 512 * 1024

/**
 * Returns the body of an answer with its parts. Without room for the parts, the body has only
 * `partsTruncated`. Returns undefined without room for that.
 */
export function bodyWithParts(
  { id, name, createdAt, data }: WebhookEvent,
  parts: AnswerParts,
): string | undefined {
  for (const shown of [shownParts(parts), { partsTruncated: true }]) {
    const body = frozen(name, id, createdAt, { ...data, ...shown })
    if (body.length <= MAX_PARTS_BODY) return body
  }
  return undefined
}
