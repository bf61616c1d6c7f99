import type { BucketLevel } from '@org/agent-messaging-core/storage'
import { defaultLimits } from '@org/agent-messaging-core/runtime'
import {
  EVENT_TYPE_PATTERN,
  MAX_EVENT_ID,
  MAX_EVENT_TYPE,
  MOST_PUBLISHED,
} from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { z } from 'zod'
import {
  chain,
  idempotencyKeyProblem,
  refusal,
  reply,
  senderOf,
} from '@org/agent-messaging-http-kit'
import { authorize } from '../authorize.js'
import type { Env } from '../env.js'
import { rateLimitHeaders } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { ownAnswers, routesOf } from '../route.js'
import { id, jsonObject, text, textOf, namedFields, creationOf } from '../schemas.js'
import { named } from '../wire/body.js'

const newEvent = creationOf(
  'NewEvent',
  {
    type: text.meta({
      pattern: EVENT_TYPE_PATTERN,
      maxLength: MAX_EVENT_TYPE,
      description:
        'Words with dots between them. `message.`, `agent.`, `webhook.` and `delivery.` begin the events of the service.',
    }),
    data: jsonObject.describe('The content, as the receivers get it.'),
    id: text.optional().meta({
      ...textOf(MAX_EVENT_ID),
      description: 'Unique in the project. The same event with the same id is published once.',
    }),
    endUserId: text
      .optional()
      .meta({ ...textOf(256), description: 'The person whose data this is. No receiver sees it.' }),
    agentId: id.optional().describe('With `sessionId`: the event stands in this session.'),
    sessionId: text.optional().meta({
      ...textOf(defaultLimits.sessionIdLength),
      description: 'Orders events for webhooks with `ordering`.',
    }),
    metadata: jsonObject
      .optional()
      .describe('Returned in `data`, with `channel` and `correlationId` beside it.'),
  },
  {
    examples: [
      { type: 'order.paid', data: { orderId: 'o-42', amount: 1200 }, id: 'order-42-paid' },
    ],
  },
)

const batch = namedFields('NewEvents', {
  events: z
    .array(newEvent, `must be a list of 1 to ${MOST_PUBLISHED} events`)
    .min(1)
    .max(MOST_PUBLISHED)
    .meta({
      description: 'All are published, or none.',
    }),
})

/** One event, or several. The fields tell which. */
const publication = jsonObject
  .transform((sent, context) => {
    const schema = Object.hasOwn(sent, 'events') ? batch : newEvent
    const parsed = schema.safeParse(sent)
    if (parsed.success) return parsed.data
    for (const { path, message } of parsed.error.issues)
      context.issues.push({ code: 'custom', input: sent, path, message })
    return z.NEVER
  })
  .meta({ shown: z.union([newEvent, batch]) })

const eventId = named('PublishedId', { id: z.string() })
const published = z
  .union([eventId, named('PublishedIds', { data: z.array(eventId) })])
  .meta({ id: 'Published', description: '`data` for several events, in their order.' })

type Answer = { readonly replayed: boolean; readonly levels?: readonly BucketLevel[] | undefined }

/** Publishes events of the host. */
export const publishRoutes = (d: HttpDeps) => {
  const { events } = d.service
  const access = authorize(d, 'events.publish', { recalls: true })
  const route = routesOf(d, { tag: 'Events', access })
  return new Hono<Env>().post(
    '/v1/events',
    route(
      {
        operationId: 'publishEvents',
        summary: 'Publish an event, or up to 100 events in one commit',
        description:
          'Answers when the events and their deliveries are durable. Each webhook that subscribes to ' +
          'the type gets a delivery. Without one, the event is in the log.',
        requestHeaders: ['Idempotency-Key', 'traceparent', 'tracestate'],
        body: publication,
        refusals: ['idempotency_mismatch', 'rate_limited', 'unauthorized'],
        answer: ownAnswers({
          202: {
            description: 'The events are stored',
            body: published,
            headers: ['Idempotent-Replayed', 'RateLimit-Policy', 'RateLimit'],
          },
        }),
      },
      (c, sent) => {
        const { access: _, ...sender } = senderOf(c)
        const problem = idempotencyKeyProblem(sender.idempotencyKey)
        if (problem) return refusal(problem)
        const answer = ({ replayed, levels = [], ...ids }: Answer) =>
          reply(c, 202, ids, {
            ...(replayed && { 'Idempotent-Replayed': 'true' }),
            ...rateLimitHeaders(c, levels),
          })
        return 'events' in sent
          ? chain(events.publishBatch({ ...sender, ...sent }), answer)
          : chain(events.publish({ ...sender, ...sent }), answer)
      },
    ),
  )
}
