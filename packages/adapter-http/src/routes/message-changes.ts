import { Hono } from 'hono'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { answer } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { messageRef, byActor } from '../path-id.js'
import { messageBody, messageSchema } from '../wire/message.js'

/** Cancels or retries a message. Both routes answer with the changed message. */
export const messageChangeRoutes = ({ service }: HttpDeps) => {
  const maySend = authorize(service, 'project:message')
  return new Hono<Env>()
    .post('/v1/agents/:id/messages/:messageId/cancel', about.cancel, maySend, (c) =>
      answer(c, 200, service.messages.cancel(byActor(c, messageRef(c))), messageBody),
    )

    .post('/v1/agents/:id/messages/:messageId/retry', about.retry, maySend, (c) =>
      answer(c, 202, service.messages.retry(byActor(c, messageRef(c))), messageBody),
    )
}

const tag = 'Messages'
const changed = { description: 'The message after the change', body: messageSchema }

const about = {
  cancel: describeRoute<Service['messages']['cancel']>({
    tag,
    operationId: 'cancelMessage',
    summary: 'Cancel a message that is not final',
    refusals: { agent_not_found: true, message_not_found: true, message_final: true },
    answers: { 200: changed },
  }),
  retry: describeRoute<Service['messages']['retry']>({
    tag,
    operationId: 'retryMessage',
    summary: 'Retry a failed or cancelled message',
    description: 'The message goes to the end of its session’s queue.',
    refusals: {
      agent_not_found: true,
      message_not_found: true,
      message_not_retryable: true,
      agent_not_running: true,
      session_full: true,
    },
    answers: { 202: changed },
  }),
}
