import { Hono } from 'hono'
import { replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { refuse } from '../errors.js'
import { replyEvents } from '../event-stream.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'
import { agentIn, idIn } from '../path-id.js'

/** A message as it comes about: its states, the pieces of its answer, and at the end the whole message. */
export const messageStreamRoutes = ({ service }: HttpDeps) =>
  new Hono<Env>().get('/v1/agents/:id/messages/:messageId/stream', authorize(service, 'project:message'), async (c) => {
    // Hono gives HEAD to a GET handler, and nobody would read the stream.
    if (c.req.method === 'HEAD') return refuse(c, { kind: 'method_not_allowed', allow: ['GET'] })
    const opened = await service.messages.stream({
      projectId: c.get('projectId'),
      agent: agentIn(c.req.param('id')),
      messageId: idIn(c.req.param('messageId')),
      lastEventId: c.req.header('last-event-id'),
    })
    if (opened.isErr()) return refuse(c, opened.error)
    // 204 tells an EventSource, which comes back after every end, that there is no more to come.
    return opened.value ? replyEvents(c, opened.value) : replyEmpty(c)
  })
