import type { SessionSummary } from '@org/agent-messaging-core'
import { withIso } from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { z } from 'zod'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { agentRef, byAccess, byActor, textIn } from '../path-id.js'
import { routesOf, shownPage, withoutBody } from '../route.js'
import { forced, page } from '../schemas.js'
import { at, count, uuid, named } from '../wire/body.js'

const sessionSchema = named('Session', {
  sessionId: z.string(),
  openCount: count.describe('Messages that are not final.'),
  lastMessageId: uuid,
  lastMessageAt: at,
})

export const sessionRoutes = (d: HttpDeps) => {
  const { sessions } = d.service
  const route = routesOf(d, { tag: 'Sessions' })
  return new Hono<Env>()
    .get(
      '/v1/agents/:id/sessions',
      route(
        {
          operationId: 'listSessions',
          call: 'sessions.list',
          summary: 'List the sessions of an agent',
          query: page,
          refusals: ['agent_not_found'],
          answer: shownPage(sessionSchema, (session: SessionSummary) => withIso(session)),
        },
        (c, asked) => sessions.list({ ...byAccess(c, agentRef(c)), ...asked }),
      ),
    )
    .delete(
      '/v1/agents/:id/sessions/:sessionId',
      route(
        {
          operationId: 'eraseSession',
          call: 'sessions.erase',
          summary: 'Erase a session with its messages and its memory',
          query: forced,
          refusals: ['agent_not_found', 'session_not_found', 'session_busy'],
          answer: withoutBody('The session is erased'),
        },
        (c, { force }) =>
          sessions.erase(
            byActor(c, {
              ...agentRef(c),
              sessionId: textIn(c.req.param('sessionId')),
              force: force === 'true',
            }),
          ),
      ),
    )
}
