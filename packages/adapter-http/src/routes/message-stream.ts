import { shownStreamEvent } from '@org/agent-messaging-core/host'
import {
  chain,
  eventsOf,
  replyEvents,
  revocationCheck,
  type EventWriter,
  type WrittenEvent,
  replyEmpty,
} from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { byAccess, messageRef } from '../path-id.js'
import { ownAnswers, routesOf } from '../route.js'
import { streamEventSchema } from '../wire/stream.js'

/** Streams a message: its states, the chunks of its answer, and at the end the whole message. */
export const messageStreamRoutes = (d: HttpDeps) => {
  const { messages } = d.service
  const route = routesOf(d, { tag: 'Messages' })
  return new Hono<Env>().get(
    '/v1/agents/:id/messages/:messageId/stream',
    route(
      {
        operationId: 'streamMessage',
        call: 'messages.stream',
        summary: 'Stream the answer to a message',
        description:
          'Sends the states of the message, the chunks of the answer while the agent writes them, and ' +
          'at the end the whole message. A quiet stream sends a heartbeat every 5 seconds. If the ' +
          'API key is revoked, the stream ends within 20 seconds.',
        requestHeaders: ['Last-Event-ID'],
        refusals: ['agent_not_found', 'message_not_found', 'too_many_streams'],
        answer: ownAnswers({
          200: {
            description: 'Server-sent events, each with the fields of a `StreamEvent`',
            body: streamEventSchema,
            mediaType: 'text/event-stream',
            headers: ['X-Accel-Buffering'],
          },
          204: { description: 'The stream has no events after `Last-Event-ID`' },
        }),
      },
      (c) => {
        // Hono passes HEAD to a GET handler, and no caller would read the stream.
        if (c.req.method === 'HEAD')
          return Promise.resolve(refuse(c, { kind: 'method_not_allowed', allow: ['GET'] }))
        const lastEventId = c.req.header('last-event-id')
        return chain(messages.stream({ ...byAccess(c, messageRef(c)), lastEventId }), (stream) => {
          // 204 tells an EventSource not to reconnect: the stream has no more events.
          if (!stream) return replyEmpty(c)
          const isRevoked = revocationCheck(c.get('requester'), d)
          return replyEvents(c, eventsOf(stream, { writer, isRevoked, end: () => '' }))
        })
      },
    ),
  )
}

/** Writes the events of a message. The stream ends by itself after the final one. */
const writer: EventWriter = { isOver: false, write: textOf }

/** Returns the event as text. Its data is one line, because JSON has no line breaks. */
function textOf(streamed: WrittenEvent): string {
  const { event, id, ...data } = shownStreamEvent(streamed)
  const shown = 'message' in data ? data.message : data
  return `event: ${event}
id: ${id}
data: ${JSON.stringify(shown)}

`
}
