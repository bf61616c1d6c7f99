import type { PrincipalTraces } from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { z } from 'zod'
import type { Env, RouteContext } from '../env.js'
import type { HttpDeps } from '../options.js'
import { byActor, textIn } from '../path-id.js'
import { routesOf, shown } from '../route.js'
import { forced, query, text } from '../schemas.js'
import { count, named } from '../wire/body.js'

const further = query({
  cursor: text
    .meta({ pattern: '^(events|[0-9a-f-]{36})?\\.([0-9]{1,15})?$' })
    .optional()
    .describe('The `nextCursor` of the previous request.'),
})

const principalTracesSchema = named(
  'PrincipalTraces',
  {
    messages: count,
    openMessages: count.describe('Messages that are not final. They are kept.'),
    deliveries: count,
    events: count.describe('Events without deliveries.'),
    nextCursor: z
      .string()
      .nullable()
      .describe('Send it as `?cursor=` to continue. Null after the last row.'),
  },
  { description: 'Counts of the rows that this request looked at.' },
)

const counts = (description: string) =>
  shown(description, principalTracesSchema, (traces: PrincipalTraces) => traces)

export const principalRoutes = (d: HttpDeps) => {
  const { principals } = d.service
  const route = routesOf(d, { tag: 'Principals' })
  return new Hono<Env>()
    .get(
      '/v1/principals/:endUserId',
      route(
        {
          operationId: 'countPrincipal',
          call: 'principals.count',
          errors: ['route_not_found'],
          summary: 'Count the data of an end user',
          description:
            'Looks at a bounded number of rows. Repeat with `nextCursor` and add the counts up.',
          query: further,
          answer: counts('The counts'),
        },
        (c, asked) => principals.count({ ...principalIn(c), ...asked }),
      ),
    )
    .delete(
      '/v1/principals/:endUserId',
      route(
        {
          operationId: 'erasePrincipal',
          call: 'principals.erase',
          errors: ['route_not_found'],
          summary: 'Erase the messages of an end user and their deliveries',
          description:
            'Looks at a bounded number of rows. Repeat with `nextCursor`. You can repeat a request, or ' +
            'start over, at any time.',
          query: query({ ...forced.shape, ...further.shape }),
          answer: counts('The counts of erased and kept rows'),
        },
        (c, { force, cursor }) =>
          principals.erase(byActor(c, { ...principalIn(c), force: force === 'true', cursor })),
      ),
    )
}

const principalIn = (c: RouteContext) => ({
  projectId: c.get('projectId'),
  endUserId: textIn(c.req.param('endUserId')),
})
