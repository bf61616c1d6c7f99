import { Hono } from 'hono'
import { reply } from '../answer.js'
import { bearerToken } from '../bearer.js'
import { refuse } from '../errors.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'

/** One bounded pass of everything due (S§4.2); answers what it did. */
export const cronRoutes = ({ service, crypto, cronSecret, cronBudgetMs }: HttpDeps) =>
  // `all`, because Hono would give HEAD to a GET handler, and a HEAD must run nothing.
  new Hono<Env>().all('/api/cron/webhooks', async (c) => {
    if (c.req.method !== 'GET' && c.req.method !== 'POST') return refuse(c, { kind: 'method_not_allowed', allow: ['GET', 'POST'] })
    const sent = bearerToken(c.req.header('authorization')) ?? ''
    if (!cronSecret || !crypto.equal(sent, cronSecret)) return refuse(c, { kind: 'cron_unauthorized' })
    return reply(c, 200, await service.tick({ budgetMs: cronBudgetMs }))
  })
