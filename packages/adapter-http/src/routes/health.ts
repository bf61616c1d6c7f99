import { Hono } from 'hono'
import { z } from 'zod'
import { reply } from '../answer.js'
import { describeRoute } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'

/** `/healthz`: the process answers. `/readyz`: its storage does too. */
export const healthRoutes = ({ service }: HttpDeps) =>
  new Hono<Env>()
    .get('/healthz', about.health, (c) => reply(c, 200, { status: 'ok' }))
    .get('/readyz', about.readiness, async (c) => {
      const reached = await service.ping()
      return reached.isErr() ? refuse(c, reached.error) : reply(c, 200, { status: 'ok' })
    })

const tag = 'Operations'
const ok = z.object({ status: z.literal('ok') })

const about = {
  health: describeRoute({
    ...{ tag, operationId: 'getHealth', summary: 'Whether the process answers' },
    answers: { 200: { description: 'It does', body: ok } },
  }),
  readiness: describeRoute({
    ...{ tag, operationId: 'getReadiness', summary: 'Whether its storage can be read and written' },
    errors: ['unavailable'],
    answers: { 200: { description: 'It can', body: ok } },
  }),
}
