import { Hono } from 'hono'
import { reply } from '../answer.js'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { agentIn, idIn } from '../path-id.js'
import { messageBody, messageSchema } from '../wire/message.js'

/** What a caller may do to a message that it sent. Both answer with the message as it is then. */
export const messageChangeRoutes = ({ service }: HttpDeps) => {
  const maySend = authorize(service, 'project:message')
  return new Hono<Env>()
    .post('/v1/agents/:id/messages/:messageId/cancel', about.cancel, maySend, async (c) => {
      const { id, messageId } = c.req.param()
      const cancelled = await service.messages.cancel({
        projectId: c.get('projectId'),
        agent: agentIn(id),
        messageId: idIn(messageId),
      })
      return cancelled.isErr()
        ? refuse(c, cancelled.error)
        : reply(c, 200, messageBody(cancelled.value))
    })

    .post('/v1/agents/:id/messages/:messageId/retry', about.retry, maySend, async (c) => {
      const { id, messageId } = c.req.param()
      const retried = await service.messages.retry({
        projectId: c.get('projectId'),
        agent: agentIn(id),
        messageId: idIn(messageId),
      })
      return retried.isErr() ? refuse(c, retried.error) : reply(c, 202, messageBody(retried.value))
    })
}

const tag = 'Messages'
const answer = { description: 'The message as it is then', body: messageSchema }

const about = {
  cancel: describeRoute<Service['messages']['cancel']>({
    ...{ tag, operationId: 'cancelMessage', summary: 'End a message that is not final' },
    refusals: { agent_not_found: true, message_not_found: true, message_final: true },
    answers: { 200: answer },
  }),
  retry: describeRoute<Service['messages']['retry']>({
    ...{
      tag,
      operationId: 'retryMessage',
      summary: 'Put a message that failed or was cancelled at its session’s end',
    },
    refusals: {
      agent_not_found: true,
      message_not_found: true,
      message_not_retryable: true,
      agent_not_running: true,
      session_full: true,
    },
    answers: { 202: answer },
  }),
}
