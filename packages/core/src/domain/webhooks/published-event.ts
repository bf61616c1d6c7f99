import { MAX_END_USER_ID } from '../access/principal.js'
import { metadataRule } from '../messages/metadata-rule.js'
import { given } from '../values/given.js'
import { isUuid, textRule, type Rule } from '../values/input-rules.js'
import type { Instant } from '../values/instant.js'
import { canonicalJson, isJsonObject, jsonProblem, type JsonObject } from '../values/json.js'
import type { Limits } from '../values/limits.js'
import { echoOf, frozen, type PublishRequest, type WebhookEvent } from './event.js'
import { eventTypeRule } from './event-name.js'

/** An event that a host publishes. */
export type NewEvent = {
  /** Words with dots between them, such as `order.paid`: at most 100 characters. */
  readonly type: string
  /** At most `limits.messageLength` characters as JSON, and `limits.metadataDepth` levels. */
  readonly data: JsonObject
  /** The id of the event, unique in the project: 1 to 255 characters. Default: a new UUID. */
  readonly id?: string | undefined
  /** Whose event this is. No receiver sees it. The event is erased with this person. */
  readonly endUserId?: string | undefined
  /** With `sessionId`, the event stands in the order of this agent's session, and is erased with it. */
  readonly agentId?: string | undefined
  /** Orders the events, for webhooks with `ordering: "session"`. */
  readonly sessionId?: string | undefined
  /** Comes back in the event, with `channel` and `correlationId` beside it. */
  readonly metadata?: JsonObject | undefined
}

/** The content of its body. `data` has the fields that were given beside it, too. */
export type PublishedBody = {
  readonly event: string
  readonly id: string
  readonly createdAt: string
  readonly data: JsonObject
}

/** The events of one request. */
export const MOST_PUBLISHED = 100
/** The deliveries that one request can make. */
export const MOST_DELIVERIES = 2_000
export const MAX_EVENT_ID = 255

/** Fields that stand beside `data` in a request and in it in the body. */
const WITHIN = ['agentId', 'sessionId', 'metadata'] as const

const optional = (value: unknown, rule: (value: unknown) => Rule): Rule =>
  value === undefined ? undefined : rule(value)

/** The rules of an event. `within`: the path of the event in its request, with a dot. */
export const eventRules = (
  { type, data, id, endUserId, agentId, sessionId, metadata }: NewEvent,
  limits: Limits,
  within = '',
): Record<string, Rule> => ({
  [`${within}type`]: eventTypeRule(type),
  [`${within}data`]: dataRule(data, limits),
  [`${within}id`]: optional(id, idRule),
  [`${within}endUserId`]: optional(endUserId, (value) => textRule(value, MAX_END_USER_ID)),
  [`${within}agentId`]: optional(agentId, (value) =>
    typeof value === 'string' && isUuid(value) ? undefined : 'must be a UUID',
  ),
  [`${within}sessionId`]: optional(sessionId, (value) => textRule(value, limits.sessionIdLength)),
  [`${within}metadata`]: metadataRule(metadata, limits),
  ...takenRules({ data, agentId, sessionId, metadata }, within),
})

/** A URL cannot have such a segment. */
const idRule = (id: unknown): Rule =>
  id === '.' || id === '..' ? 'must not be . or ..' : textRule(id, MAX_EVENT_ID)

function dataRule(data: unknown, { messageLength, metadataDepth }: Limits): Rule {
  if (!isJsonObject(data)) return data === undefined ? 'is required' : 'must be an object'
  const problem = jsonProblem(data, metadataDepth)
  if (problem !== undefined) return problem
  return JSON.stringify(data).length > messageLength
    ? `must have at most ${messageLength} characters as JSON`
    : undefined
}

/** A field beside `data` must not replace one of the host in it. */
function takenRules(
  { data, metadata, ...fields }: Pick<NewEvent, 'data' | (typeof WITHIN)[number]>,
  within: string,
): Record<string, Rule> {
  if (!isJsonObject(data)) return {}
  const beside = { ...fields, metadata, ...(isJsonObject(metadata) ? echoOf(metadata) : {}) }
  return Object.fromEntries(
    Object.entries(beside).map(([name, value]) => [
      `${within}data.${name}`,
      value !== undefined && Object.hasOwn(data, name)
        ? `must be absent, because the event itself has ${name}`
        : undefined,
    ]),
  )
}

/** Equal for equal events, in any order of their keys. */
export const contentOf = ({
  type,
  data,
  endUserId,
  agentId,
  sessionId,
  metadata,
}: NewEvent): string =>
  canonicalJson({ type, data, ...given({ endUserId, agentId, sessionId, metadata }) })

type BornEvent = Pick<WebhookEvent, 'id' | 'projectId'> & {
  readonly now: Instant
  readonly serviceUrl?: string | undefined
  readonly fingerprint?: string | undefined
}

/** Returns the event to store. */
export function publishedEvent(
  { type, data, endUserId, agentId, sessionId, metadata }: NewEvent,
  { id, projectId, now, fingerprint, serviceUrl }: BornEvent,
): WebhookEvent {
  const added = given({ agentId, sessionId, metadata })
  const whole = { ...data, ...added, ...(metadata && echoOf(metadata)) }
  return {
    id,
    projectId,
    name: type,
    body: frozen(type, id, now, whole),
    createdAt: now,
    data: whole,
    ...added,
    ...given({ serviceUrl }),
    published: given({ fingerprint, endUserId }),
  }
}

/** A stored event that has the id of an event to publish. */
export type SameId = { readonly id: string; readonly fingerprint: string | null }

/**
 * What becomes of a request: all is stored already, or something else is, or `events` are new. An
 * event of another kind has no fingerprint.
 */
export type DecidedPublish =
  | { readonly kind: 'replayed' }
  | { readonly kind: 'mismatch' | 'agent_not_found'; readonly ids: readonly string[] }
  | { readonly kind: 'too_many_deliveries'; readonly fits: number }
  | { readonly kind: 'new'; readonly events: readonly WebhookEvent[] }

type Known = {
  /** The stored events with the same ids. */
  readonly sameIds: readonly SameId[]
  readonly asked: PublishRequest | undefined
  /** The fingerprint of the stored request with the same key. */
  readonly stored: string | undefined
  readonly deliveriesOf: (event: WebhookEvent, at: number) => number
  /** Returns false if the event names an agent that does not exist, or was deleted since the request. */
  readonly hasAgent: (event: WebhookEvent) => boolean
}

/** Decides about a request. `fits`: so many of its first events make few enough deliveries. */
export function decidePublish(
  events: readonly WebhookEvent[],
  { sameIds, asked, stored: storedRequest, deliveriesOf, hasAgent }: Known,
): DecidedPublish {
  if (storedRequest !== undefined)
    return storedRequest === asked?.fingerprint
      ? { kind: 'replayed' }
      : { kind: 'mismatch', ids: [] }
  const stored = new Map(sameIds.map(({ id, fingerprint }) => [id, fingerprint]))
  const known = events.filter(({ id }) => stored.has(id))
  const other = known.filter(
    ({ id, published }) => stored.get(id) !== (published?.fingerprint ?? null),
  )
  if (other.length > 0) return { kind: 'mismatch', ids: other.map(({ id }) => id) }
  if (known.length === events.length) return { kind: 'replayed' }
  const fresh = events.filter(({ id }) => !stored.has(id))
  const orphans = fresh.filter((event) => !hasAgent(event))
  if (orphans.length > 0) return { kind: 'agent_not_found', ids: orphans.map(({ id }) => id) }
  if (events.length > 1) {
    const counts = events.map((event, at) => (stored.has(event.id) ? 0 : deliveriesOf(event, at)))
    const fits = eventsThatFit(counts)
    if (fits < events.length) return { kind: 'too_many_deliveries', fits }
  }
  return { kind: 'new', events: fresh }
}

/** Returns how many of the events fit, given the deliveries that each makes. */
function eventsThatFit(deliveries: readonly number[]): number {
  let sum = 0
  const end = deliveries.findIndex((count) => (sum += count) > MOST_DELIVERIES)
  return end === -1 ? deliveries.length : end
}
