import type { EventsOfLog } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import { z } from 'zod'
import { authorize } from '../authorize.js'
import { Caller, reply } from '@org/agent-messaging-http-kit'
import { describeRoute, type Service } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { paging, query, text } from '../schemas.js'
import { validQuery } from '../validate.js'
import { eventSchemaOfAnyName } from '../wire/event.js'

const read = query({
  after: text
    .meta({ pattern: '^\\d{1,15}(-[0-9a-f]{1,8}){1,2}$' })
    .optional()
    .meta({ description: 'The `nextCursor` of the last page. Absent: the oldest event.' }),
  wait: text
    .regex(/^(?:[1-5]?\d|60)$/, 'must be a whole number from 0 to 60')
    .transform(Number)
    .default(0)
    .meta({
      description: 'The seconds to wait for an event.',
      shown: { type: 'integer', minimum: 0, maximum: 60, default: 0 },
    }),
  limit: paging.limit,
})

/** Events for receivers without a public URL, by long polling. */
export const eventRoutes = ({ service }: HttpDeps) =>
  new Hono<Env>().get(
    '/v1/events',
    about.read,
    authorize(service, 'project:events'),
    validQuery(read),
    async (c) => {
      const { after, wait, limit } = c.req.valid('query')
      const caller = new Caller(c)
      let cursor = after
      for (let leftMs = wait * 1_000; ;) {
        const waitMs = Math.min(leftMs, service.policy.stream.keyCheckMs)
        leftMs -= waitMs
        const found = await service.events.read({
          projectId: c.get('projectId'),
          after: cursor,
          limit,
          waitMs,
          abort: caller,
        })
        if (found.isErr()) return refuse(c, found.error)
        // The key can be revoked or expire while its request waits.
        if (waitMs > 0 && (await c.get('access').isRevoked()))
          return refuse(c, { kind: 'unauthorized' })
        const { data, nextCursor } = found.value
        cursor = nextCursor
        if (data.length > 0 || leftMs === 0 || caller.aborted)
          return reply(c, 200, pageBody(found.value))
      }
    },
  )

const pageBody = ({ data, nextCursor }: EventsOfLog) => ({
  data: data.map(({ cursor, body }) => ({ cursor, event: JSON.parse(body) as unknown })),
  nextCursor,
})

const cursor = z
  .string()
  .meta({ description: 'Send it as `?after=` to continue after this event.' })
const page = z
  .object({
    data: z.array(z.object({ cursor, event: eventSchemaOfAnyName }).meta({ id: 'LoggedEvent' })),
    nextCursor: z
      .string()
      .meta({ description: 'Send it as `?after=`. Present even if the page is empty.' }),
  })
  .meta({ id: 'EventLogPage' })

const about = {
  read: describeRoute<Service['events']['read']>({
    tag: 'Events',
    operationId: 'readEvents',
    summary: 'Read events in the order of their commits',
    description:
      'For receivers without a public URL. A reader that continues from `nextCursor` gets each ' +
      'event of the project once, with or without a webhook. If there is no event yet, the ' +
      'request waits for up to `wait` seconds.',
    refusals: { event_cursor_expired: true },
    answers: { 200: { description: 'One page', body: page } },
  }),
}
