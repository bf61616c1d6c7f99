import { Hono } from 'hono'
import { z } from 'zod'
import { reply } from '../answer.js'
import { bearerToken } from '../bearer.js'
import { describeRoute } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { count, type BodyOf } from '../wire/body.js'

const passSchema = z
  .object({
    messages: count.meta({ description: 'Runs begun.' }),
    deliveries: count.meta({ description: 'Attempts begun.' }),
    cancelled: count.meta({ description: 'Deliveries ended unsent.' }),
    purgedDeliveries: count,
    purgedMessages: count,
  })
  .meta({ id: 'Pass' })

/** One bounded pass of everything due (S§4.2); answers what it did. */
export const cronRoutes = ({ service, crypto, cronSecret, cronBudgetMs }: HttpDeps) =>
  // `all`, because Hono would give HEAD to a GET handler, and a HEAD must run nothing.
  new Hono<Env>().all('/api/cron/webhooks', about.pass, async (c) => {
    if (c.req.method !== 'GET' && c.req.method !== 'POST')
      return refuse(c, { kind: 'method_not_allowed', allow: ['GET', 'POST'] })
    const sent = bearerToken(c.req.header('authorization')) ?? ''
    if (!cronSecret || !crypto.equal(sent, cronSecret))
      return refuse(c, { kind: 'cron_unauthorized' })
    const pass: BodyOf<typeof passSchema> = await service.tick({ budgetMs: cronBudgetMs })
    return reply(c, 200, pass)
  })

const about = {
  pass: describeRoute({
    ...{
      tag: 'Operations',
      operationId: 'runPass',
      summary: 'Do everything that is due, for a bounded time',
    },
    description: 'For hosts without timers of their own, where a scheduler calls it.',
    methods: ['POST', 'GET'],
    security: { cronSecret: [] },
    errors: ['cron_unauthorized'],
    answers: { 200: { description: 'What it did', body: passSchema } },
  }),
}
