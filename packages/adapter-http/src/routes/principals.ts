import type { PrincipalTraces } from '@org/agent-messaging-core'
import { Hono, type Context } from 'hono'
import { z } from 'zod'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { answer } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { textIn, byActor } from '../path-id.js'
import { forced, query, text } from '../schemas.js'
import { validQuery } from '../validate.js'
import { count, type BodyOf } from '../wire/body.js'

const further = query({
  cursor: text
    .meta({ pattern: '^(events|[0-9a-f-]{36})?\\.([0-9]{1,15})?$' })
    .optional()
    .meta({ description: 'The `nextCursor` of the previous request.' }),
})

const principalTracesSchema = z
  .object({
    messages: count,
    openMessages: count.meta({ description: 'Messages that are not final. They are kept.' }),
    deliveries: count,
    events: count.meta({ description: 'Events without deliveries.' }),
    nextCursor: z
      .string()
      .nullable()
      .meta({ description: 'Send it as `?cursor=` to continue. Null after the last row.' }),
  })
  .meta({ id: 'PrincipalTraces', description: 'Counts of the rows that this request looked at.' })

export const principalRoutes = ({ service }: HttpDeps) => {
  const mayAdminister = authorize(service, 'project:admin')
  return new Hono<Env>()
    .get('/v1/principals/:endUserId', about.count, mayAdminister, validQuery(further), (c) => {
      const counted = service.principals.count({ ...principalIn(c), ...c.req.valid('query') })
      return answer(c, 200, counted, tracesBody)
    })

    .delete(
      '/v1/principals/:endUserId',
      about.erase,
      mayAdminister,
      validQuery(query({ ...forced.shape, ...further.shape })),
      (c) => {
        const { force, cursor } = c.req.valid('query')
        const input = { ...principalIn(c), force: force === 'true', cursor }
        return answer(c, 200, service.principals.erase(byActor(c, input)), tracesBody)
      },
    )
}

const principalIn = (c: Context<Env, '/v1/principals/:endUserId'>) => ({
  projectId: c.get('projectId'),
  endUserId: textIn(c.req.param('endUserId')),
})

const tracesBody = (traces: PrincipalTraces): BodyOf<typeof principalTracesSchema> => traces

const tag = 'Principals'

const about = {
  count: describeRoute<Service['principals']['count']>({
    tag,
    operationId: 'countPrincipal',
    errors: ['route_not_found'],
    summary: 'Count the data of an end user',
    description:
      'Looks at a bounded number of rows. Repeat with `nextCursor` and add the counts up.',
    answers: { 200: { description: 'The counts', body: principalTracesSchema } },
  }),
  erase: describeRoute<Service['principals']['erase']>({
    tag,
    operationId: 'erasePrincipal',
    errors: ['route_not_found'],
    summary: 'Erase the messages of an end user and their deliveries',
    description:
      'Looks at a bounded number of rows. Repeat with `nextCursor`. You can repeat a request, or ' +
      'start over, at any time.',
    answers: {
      200: {
        description: 'The counts of erased and kept rows',
        body: principalTracesSchema,
      },
    },
  }),
}
