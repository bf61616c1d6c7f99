import { reply, bearerToken } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { describeRoute } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { count, type BodyOf } from '../wire/body.js'

const passSchema = z
  .object({
    messages: count.meta({ description: 'Runs started.' }),
    deliveries: count.meta({ description: 'Attempts started.' }),
    cancelled: count.meta({ description: 'Deliveries cancelled unsent.' }),
    purgedDeliveries: count,
    purgedMessages: count,
  })
  .meta({ id: 'Pass' })

/** Runs one bounded pass of all due work, and answers with its counts. */
export const cronRoutes = ({ service, crypto, cronSecret, cronBudgetMs }: HttpDeps) =>
  // `all`, because Hono passes HEAD to a GET handler. A HEAD must not run a pass.
  new Hono<Env>().all('/api/cron/webhooks', about.pass, async (c) => {
    if (c.req.method !== 'GET' && c.req.method !== 'POST')
      return refuse(c, { kind: 'method_not_allowed', allow: ['GET', 'POST'] })
    const sent = bearerToken(c.req.raw) ?? ''
    if (!cronSecret || !crypto.equal(sent, cronSecret))
      return refuse(c, { kind: 'cron_unauthorized' })
    const pass: BodyOf<typeof passSchema> = await service.tick({ budgetMs: cronBudgetMs })
    return reply(c, 200, pass)
  })

const about = {
  pass: describeRoute({
    tag: 'Operations',
    operationId: 'runPass',
    summary: 'Do all due work, for a bounded time',
    description: 'For hosts without timers: a scheduler calls this route.',
    methods: { POST: 'runPass', GET: 'runPassByGet' },
    security: { cronSecret: [] },
    errors: ['cron_unauthorized'],
    answers: { 200: { description: 'The counts of the pass', body: passSchema } },
  }),
}
