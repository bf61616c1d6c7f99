import { Hono } from 'hono'
import { reply } from '../answer.js'
import { authorize } from '../authorize.js'
import { refuse } from '../errors.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'
import { agentIn, idIn } from '../path-id.js'
import { messageBody } from '../wire/message.js'

/** What a caller may do to a message that it sent. Both answer with the message as it is then. */
export const messageChangeRoutes = ({ service }: HttpDeps) => {
  const maySend = authorize(service, 'project:message')
  return new Hono<Env>()
    .post('/v1/agents/:id/messages/:messageId/cancel', maySend, async (c) => {
      const { id, messageId } = c.req.param()
      const cancelled = await service.messages.cancel({ projectId: c.get('projectId'), agent: agentIn(id), messageId: idIn(messageId) })
      return cancelled.isErr() ? refuse(c, cancelled.error) : reply(c, 200, messageBody(cancelled.value))
    })

    .post('/v1/agents/:id/messages/:messageId/retry', maySend, async (c) => {
      const { id, messageId } = c.req.param()
      const retried = await service.messages.retry({ projectId: c.get('projectId'), agent: agentIn(id), messageId: idIn(messageId) })
      return retried.isErr() ? refuse(c, retried.error) : reply(c, 200, messageBody(retried.value))
    })
}
