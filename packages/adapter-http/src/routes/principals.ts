import type { PrincipalTraces } from '@org/agent-messaging-core'
import { Hono, type Context } from 'hono'
import { z } from 'zod'
import { reply } from '../answer.js'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { textIn } from '../path-id.js'
import { forced, text } from '../schemas.js'
import { validQuery } from '../validate.js'
import type { BodyOf } from '../wire/body.js'
import { principalTracesSchema } from '../wire/principal-traces.js'

const further = z.object({
  cursor: text.optional().meta({ description: 'The `nextCursor` of the request before.' }),
})

export const principalRoutes = ({ service }: HttpDeps) => {
  const mayAdminister = authorize(service, 'project:admin')
  return new Hono<Env>()
    .get(
      '/v1/principals/:endUserId',
      about.count,
      mayAdminister,
      validQuery(further),
      async (c) => {
        const counted = await service.principals.count({
          ...principalIn(c),
          ...c.req.valid('query'),
        })
        return counted.isErr() ? refuse(c, counted.error) : reply(c, 200, tracesBody(counted.value))
      },
    )

    .delete(
      '/v1/principals/:endUserId',
      about.erase,
      mayAdminister,
      validQuery(forced.extend(further.shape)),
      async (c) => {
        const { force, cursor } = c.req.valid('query')
        const erased = await service.principals.erase({
          ...principalIn(c),
          force: force === 'true',
          cursor,
        })
        return erased.isErr() ? refuse(c, erased.error) : reply(c, 200, tracesBody(erased.value))
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
    ...{ tag, operationId: 'countPrincipal', summary: 'Count what is kept of an end user' },
    description: 'Looks at a bounded number of rows. With `nextCursor` ask again, and add up.',
    answers: { 200: { description: 'How much', body: principalTracesSchema } },
  }),
  erase: describeRoute<Service['principals']['erase']>({
    ...{
      tag,
      operationId: 'erasePrincipal',
      summary: 'Erase what was sent and answered on behalf of an end user',
    },
    description:
      'Looks at a bounded number of rows. With `nextCursor` ask again; a request that was lost may be repeated, and so may all of it.',
    answers: {
      200: {
        description: 'How much was erased, and how much was kept',
        body: principalTracesSchema,
      },
    },
  }),
}
