import type { Pass } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import { ok } from 'neverthrow'
import { z } from 'zod'
import { authorizeSecret } from '../authorize.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { routesOf, shown } from '../route.js'
import { count } from '../wire/body.js'

const passSchema = z
  .object({
    messages: count.describe('Runs started.'),
    deliveries: count.describe('Attempts started.'),
    cancelled: count.describe('Deliveries cancelled unsent.'),
    purgedDeliveries: count,
    purgedMessages: count,
  })
  .meta({ id: 'Pass' })

/** Runs one bounded pass of all due work, and answers with its counts. */
export const cronRoutes = (d: HttpDeps) => {
  const access = authorizeSecret(d, {
    secret: d.cronSecret,
    scheme: 'cronSecret',
    kind: 'cron_unauthorized',
  })
  const pass = routesOf(d, { tag: 'Operations', access })(
    {
      operationId: 'runPass',
      summary: 'Do all due work, for a bounded time',
      description: 'For hosts without timers: a scheduler calls this route.',
      methods: { POST: 'runPass', GET: 'runPassByGet' },
      answer: shown('The counts of the pass', passSchema, (pass: Pass) => pass),
    },
    async () => ok(await d.service.tick({ budgetMs: d.cronBudgetMs })),
  )
  // `all`, because Hono passes HEAD to a GET handler. A HEAD must not run a pass.
  return new Hono<Env>().all(
    '/api/cron/webhooks',
    async (c, next) =>
      c.req.method === 'GET' || c.req.method === 'POST'
        ? next()
        : refuse(c, { kind: 'method_not_allowed', allow: ['GET', 'POST'] }),
    pass,
  )
}
