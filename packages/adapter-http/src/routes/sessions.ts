import { Hono } from 'hono'
import { replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { answer, refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { agentRef, textIn, byActor } from '../path-id.js'
import { forced, pageOf, paging, query } from '../schemas.js'
import { validQuery } from '../validate.js'
import { pageBody, pageSchema } from '../wire/page.js'
import { sessionBody, sessionSchema } from '../wire/session.js'

export const sessionRoutes = ({ service }: HttpDeps) => {
  const maySend = authorize(service, 'project:message')
  return new Hono<Env>()
    .get('/v1/agents/:id/sessions', about.list, maySend, validQuery(query(paging)), (c) => {
      const page = pageOf(c.req.valid('query'))
      const found = service.sessions.list({ ...agentRef(c), page })
      return answer(c, 200, found, pageBody(sessionBody))
    })

    .delete(
      '/v1/agents/:id/sessions/:sessionId',
      about.erase,
      maySend,
      validQuery(forced),
      async (c) => {
        const erased = await service.sessions.erase(
          byActor(c, {
            ...agentRef(c),
            sessionId: textIn(c.req.param('sessionId')),
            force: c.req.valid('query').force === 'true',
          }),
        )
        return erased.isErr() ? refuse(c, erased.error) : replyEmpty(c)
      },
    )
}

const tag = 'Sessions'

const about = {
  list: describeRoute<Service['sessions']['list']>({
    tag,
    operationId: 'listSessions',
    summary: 'List the sessions of an agent',
    refusals: { agent_not_found: true },
    answers: { 200: { description: 'One page', body: pageSchema(sessionSchema) } },
  }),
  erase: describeRoute<Service['sessions']['erase']>({
    tag,
    operationId: 'eraseSession',
    summary: 'Erase a session with its messages and its memory',
    refusals: { agent_not_found: true, session_not_found: true, session_busy: true },
    answers: { 204: { description: 'The session is erased' } },
  }),
}
