import type { AgentSettings, DefaultExecutionPrincipal } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import { z } from 'zod'
import { located, reply, replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { refuse } from '../errors.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'
import { agentIn } from '../path-id.js'
import { readJson } from '../read-json.js'
import { forced, jsonObject, number, oneOf, pageOf, paging, text } from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import { agentBody, createdAgentBody } from '../wire/agent.js'
import { pageBody } from '../wire/page.js'

const settings = z.object(
  {
    name: text,
    runtime: jsonObject.refine(
      (runtime): runtime is AgentSettings['runtime'] => typeof runtime['kind'] === 'string',
      'must have a kind, a string',
    ),
    // Whatever was sent: the service's rule for it has the better words.
    defaultExecutionPrincipal: z.custom<DefaultExecutionPrincipal>().optional(),
    concurrency: number.optional(),
    maxAttempts: number.optional(),
    maxQueued: number.optional(),
  },
  'must be a JSON object',
)
const create = settings.extend({ desiredState: oneOf(['running', 'stopped']).optional() })

export const agentRoutes = ({ service, maxBodyBytes }: HttpDeps) => {
  const mayManage = authorize(service, 'project:agents')
  return new Hono<Env>()
    .post('/v1/agents', mayManage, readJson(maxBodyBytes), validBody(create), async (c) => {
      const created = await service.agents.create({ projectId: c.get('projectId'), ...c.req.valid('json') })
      if (created.isErr()) return refuse(c, created.error)
      return reply(c, 201, createdAgentBody(created.value), { Location: located(c, `/v1/agents/${created.value.agent.id}`) })
    })

    .get('/v1/agents', mayManage, validQuery(z.object(paging)), async (c) => {
      const found = await service.agents.list(c.get('projectId'), pageOf(c.req.valid('query')))
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, pageBody(found.value, agentBody))
    })

    .get('/v1/agents/:id', mayManage, async (c) => {
      const found = await service.agents.get({ projectId: c.get('projectId'), agent: agentIn(c.req.param('id')) })
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, agentBody(found.value))
    })

    .patch('/v1/agents/:id', mayManage, readJson(maxBodyBytes), validBody(settings.partial()), async (c) => {
      const change = c.req.valid('json')
      const updated = await service.agents.update({ projectId: c.get('projectId'), agent: agentIn(c.req.param('id')), change })
      return updated.isErr() ? refuse(c, updated.error) : reply(c, 200, createdAgentBody(updated.value))
    })

    .delete('/v1/agents/:id', mayManage, validQuery(forced), async (c) => {
      const force = c.req.valid('query').force === 'true'
      const deleted = await service.agents.delete({ projectId: c.get('projectId'), agent: agentIn(c.req.param('id')), force })
      return deleted.isErr() ? refuse(c, deleted.error) : replyEmpty(c)
    })

    .post('/v1/agents/:id/start', mayManage, async (c) => {
      const started = await service.agents.start({ projectId: c.get('projectId'), agent: agentIn(c.req.param('id')) })
      return started.isErr() ? refuse(c, started.error) : reply(c, 200, agentBody(started.value))
    })

    .post('/v1/agents/:id/stop', mayManage, async (c) => {
      const stopped = await service.agents.stop({ projectId: c.get('projectId'), agent: agentIn(c.req.param('id')) })
      return stopped.isErr() ? refuse(c, stopped.error) : reply(c, 200, agentBody(stopped.value))
    })
}
