import { okAsync } from 'neverthrow'
import { Hono } from 'hono'
import { z } from 'zod'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { routesOf, shown } from '../route.js'

const ok = z.object({ status: z.literal('ok') })
const showOk = () => ({ status: 'ok' }) as const

/** `/healthz` shows that the process answers, `/readyz` that its storage answers too. */
export const healthRoutes = (d: HttpDeps) => {
  const route = routesOf(d, { tag: 'Operations' })
  return new Hono<Env>()
    .get(
      '/healthz',
      route(
        {
          operationId: 'getHealth',
          summary: 'Check that the process answers',
          answer: shown('The process answers', ok, showOk),
        },
        () => okAsync(undefined),
      ),
    )
    .get(
      '/readyz',
      route(
        {
          operationId: 'getReadiness',
          summary: 'Check that the storage can be read and written',
          errors: ['unavailable'],
          answer: shown('The storage can be read and written', ok, showOk),
        },
        () => d.service.ping(),
      ),
    )
}
