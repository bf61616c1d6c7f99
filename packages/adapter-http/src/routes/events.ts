import {
  shownEvent,
  shownEvents,
  shownListedEvent,
  type Answer,
  type ReadEventsError,
} from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { z } from 'zod'
import { Caller, refusal, reply } from '@org/agent-messaging-http-kit'
import type { Env, RouteContext } from '../env.js'
import type { HttpDeps } from '../options.js'
import { inProject, eventRef } from '../path-id.js'
import { ownAnswers, routesOf, shown, shownPage } from '../route.js'
import { instant, oneOf, paging, parts, query, text } from '../schemas.js'
import { at, named } from '../wire/body.js'
import { eventTypeSchema } from '../wire/delivery.js'
import { eventSchemaOfAnyName } from '../wire/event.js'

const read = query({
  after: text
    .meta({ pattern: '^\\d{1,15}(-[0-9a-f]{1,8}){1,2}$' })
    .optional()
    .describe('The `nextCursor` of the last page. Absent: the oldest event.'),
  wait: text
    .regex(/^(?:[1-5]?\d|60)$/, 'must be a whole number from 0 to 60')
    .transform(Number)
    .default(0)
    .meta({
      description: 'The seconds to wait for an event.',
      shown: { type: 'integer', minimum: 0, maximum: 60, default: 0 },
    }),
  limit: paging.limit,
  parts,
})

const list = query({
  limit: paging.limit,
  cursor: text
    .meta({ pattern: '^[ps]\\d{1,15}$' })
    .optional()
    .describe('The `nextCursor` of the previous page.'),
  type: text.optional().describe('A type or the name of an event, or a group such as `order.*`.'),
  published: oneOf(['true', 'false'])
    .optional()
    .meta({
      description: '`true`: leaves out the events of the service.',
      shown: { type: 'boolean', default: false },
    }),
  createdAfter: instant.optional().describe('Inclusive.'),
  createdBefore: instant.optional().describe('Exclusive.'),
})
const listedEvent = named('ListedEvent', {
  id: z.string(),
  event: eventTypeSchema,
  createdAt: at,
  hasDeliveries: z.boolean().describe('False: no stored delivery has the event.'),
})
const lookedBackTo = at
  .optional()
  .describe('Present if the page ended after 10,000 events: how far it looked.')

const cursor = z.string().describe('Send it as `?after=` to continue after this event.')
const page = named('EventLogPage', {
  data: z.array(named('LoggedEvent', { cursor, event: eventSchemaOfAnyName })),
  nextCursor: z.string().describe('Send it as `?after=`. Present even if the page is empty.'),
})

/** Events for receivers without a public URL, by long polling. */
export const eventRoutes = (d: HttpDeps) => {
  const route = routesOf(d, { tag: 'Events' })
  return new Hono<Env>()
    .get(
      '/v1/events/:id',
      route(
        {
          operationId: 'getEvent',
          call: 'events.get',
          summary: 'Read an event',
          description: 'Has the same content as the bodies of its deliveries.',
          refusals: ['event_not_found'],
          answer: shown('The event', eventSchemaOfAnyName, shownEvent),
        },
        (c) => d.service.events.get(eventRef(c)),
      ),
    )
    .get(
      '/v1/recent-events',
      route(
        {
          operationId: 'listEvents',
          call: 'events.list',
          summary: 'List events, newest first',
          description: 'Without their data. A page with filters looks at 10,000 events at most.',
          query: list,
          answer: shownPage(listedEvent, shownListedEvent, { lookedBackTo }),
        },
        (c, { type, published, ...asked }) =>
          d.service.events.list(
            inProject(c, {
              types: type === undefined ? undefined : [type],
              published: published === 'true' || undefined,
              ...asked,
            }),
          ),
      ),
    )
    .get(
      '/v1/events',
      route(
        {
          operationId: 'readEvents',
          call: 'events.read',
          summary: 'Read events in the order of their commits',
          description:
            'For receivers without a public URL. A reader that continues from `nextCursor` gets each ' +
            'event of the project once, with or without a webhook. If there is no event yet, the ' +
            'request waits for up to `wait` seconds.',
          query: read,
          refusals: ['event_cursor_expired', 'unauthorized'],
          answer: ownAnswers({ 200: { description: 'One page', body: page } }),
        },
        (c, asked): Answer<Response, ReadError> => readOrWait(c, d, asked),
      ),
    )
}

type ReadError = ReadEventsError | { readonly kind: 'unauthorized' }

async function readOrWait(
  c: RouteContext,
  { service }: HttpDeps,
  { after, wait, limit, parts }: z.output<typeof read>,
): Promise<Response> {
  const { events, policy } = service
  const caller = new Caller(c)
  let cursor = after
  for (let leftMs = wait * 1_000; ;) {
    const waitMs = Math.min(leftMs, policy.stream.keyCheckMs)
    leftMs -= waitMs
    const found = await events.read({
      projectId: c.get('projectId'),
      after: cursor,
      limit,
      waitMs,
      parts: parts === 'true',
      abort: caller,
    })
    // The key can be revoked or expire while its request waits.
    const ended = waitMs > 0 ? await c.get('requester').recheck() : undefined
    if (ended) return refusal(ended)
    const { data, nextCursor } = found
    cursor = nextCursor
    if (data.length > 0 || leftMs === 0 || caller.aborted) return reply(c, 200, shownEvents(found))
  }
}
