import { Hono } from 'hono'
import { reply } from '../answer.js'
import { refuse } from '../errors.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'

/** `/healthz`: the process answers. `/readyz`: its storage does too. */
export const healthRoutes = ({ service }: HttpDeps) =>
  new Hono<Env>()
    .get('/healthz', (c) => reply(c, 200, { status: 'ok' }))
    .get('/readyz', async (c) => {
      const reached = await service.ping()
      return reached.isErr() ? refuse(c, reached.error) : reply(c, 200, { status: 'ok' })
    })
