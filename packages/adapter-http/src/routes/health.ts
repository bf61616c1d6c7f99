import { reply } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { describeRoute } from '../document/describe-route.js'
import { answer } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'

/** `/healthz` shows that the process answers, `/readyz` that its storage answers too. */
export const healthRoutes = ({ service }: HttpDeps) =>
  new Hono<Env>()
    .get('/healthz', about.health, (c) => reply(c, 200, { status: 'ok' }))
    .get('/readyz', about.readiness, (c) =>
      answer(c, 200, service.ping(), () => ({ status: 'ok' })),
    )

const tag = 'Operations'
const ok = z.object({ status: z.literal('ok') })

const about = {
  health: describeRoute({
    tag,
    operationId: 'getHealth',
    summary: 'Check that the process answers',
    answers: { 200: { description: 'The process answers', body: ok } },
  }),
  readiness: describeRoute({
    tag,
    operationId: 'getReadiness',
    summary: 'Check that the storage can be read and written',
    errors: ['unavailable'],
    answers: { 200: { description: 'The storage can be read and written', body: ok } },
  }),
}
