import { Hono } from 'hono'
import { z } from 'zod'
import { replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { bearerToken } from '../bearer.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import { replyEvents } from '../event-stream.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { agentIn, idIn } from '../path-id.js'
import { whileAuthorized } from '../while-authorized.js'

/** A message as it comes about: its states, the pieces of its answer, and at the end the whole message. */
export const messageStreamRoutes = ({ service, now }: HttpDeps) =>
  new Hono<Env>().get(
    '/v1/agents/:id/messages/:messageId/stream',
    about.stream,
    authorize(service, 'project:message'),
    async (c) => {
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
      if (!opened.value) return replyEmpty(c)
      const key = bearerToken(c.req.header('authorization')) ?? ''
      return replyEvents(c, whileAuthorized(opened.value, { service, key, now }))
    },
  )

const events = z.string().meta({
  description:
    'Server-sent events. `state`: `{state, attempt}`. `chunk`: `{attempt, offset, text}`. `message`, the last: a `Message`.',
  examples: ['event: chunk\nid: 1.5\ndata: {"attempt":1,"offset":0,"text":"Hello"}\n\n'],
})

const about = {
  stream: describeRoute<Service['messages']['stream']>({
    ...{ tag: 'Messages', operationId: 'streamMessage', summary: 'Watch a message come about' },
    description:
      'Its states, the pieces of its answer as its agent writes them, and at the end the whole message. Ends with its API key, within half a minute.',
    requestHeaders: ['Last-Event-ID'],
    refusals: { agent_not_found: true, message_not_found: true, too_many_streams: true },
    answers: {
      200: {
        description: 'The events',
        body: events,
        mediaType: 'text/event-stream',
        headers: ['X-Accel-Buffering'],
      },
      204: { description: 'There is nothing behind `Last-Event-ID`' },
    },
  }),
}
