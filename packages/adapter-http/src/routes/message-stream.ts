import { eventsOf, replyEvents, revocationCheck } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import { writer } from '../event-stream.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { messageRef } from '../path-id.js'
import { streamEventSchema } from '../wire/stream.js'

/** Streams a message: its states, the chunks of its answer, and at the end the whole message. */
export const messageStreamRoutes = ({ service, now }: HttpDeps) =>
  new Hono<Env>().get(
    '/v1/agents/:id/messages/:messageId/stream',
    about.stream,
    authorize(service, 'project:message'),
    async (c) => {
      // Hono passes HEAD to a GET handler, and no caller would read the stream.
      if (c.req.method === 'HEAD') return refuse(c, { kind: 'method_not_allowed', allow: ['GET'] })
      const opened = await service.messages.stream({
        ...messageRef(c),
        lastEventId: c.req.header('last-event-id'),
      })
      if (opened.isErr()) return refuse(c, opened.error)
      // 204 tells an EventSource not to reconnect: the stream has no more events.
      if (!opened.value) return replyEmpty(c)
      const isRevoked = revocationCheck(c.get('access'), { service, now })
      return replyEvents(c, eventsOf(opened.value, { writer, isRevoked, end: () => '' }))
    },
  )

const about = {
  stream: describeRoute<Service['messages']['stream']>({
    tag: 'Messages',
    operationId: 'streamMessage',
    summary: 'Stream the answer to a message',
    description:
      'Sends the states of the message, the chunks of the answer while the agent writes them, ' +
      'and ' +
      'at the end the whole message. A quiet stream sends a heartbeat every 5 seconds. If the ' +
      'API key is revoked, the stream ends within 20 seconds.',
    requestHeaders: ['Last-Event-ID'],
    refusals: { agent_not_found: true, message_not_found: true, too_many_streams: true },
    answers: {
      200: {
        description: 'Server-sent events, each with the fields of a `StreamEvent`',
        body: streamEventSchema,
        mediaType: 'text/event-stream',
        headers: ['X-Accel-Buffering'],
      },
      204: { description: 'The stream has no events after `Last-Event-ID`' },
    },
  }),
}
