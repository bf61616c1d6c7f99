import type { JsonObject, Message } from '@org/agent-messaging-core'
import { errorIn, isRefusal, type CallName } from '@org/agent-messaging-core/host'
import { isJsonObject, jsonTextRule } from '@org/agent-messaging-core/runtime'
import { Hono, type MiddlewareHandler } from 'hono'
import { allowAccess, errorFor, revocationCheck, type KitEnv, type KitContext } from '../access.js'
import { readJson } from '../body.js'
import { refusal, refusalHeaders, refusalOf, type HttpError } from '../errors.js'
import { eventsOf, replyEvents, type EventWriter } from '../event-stream.js'
import { exchange } from '../exchange.js'
import type { EndpointOptions, withDefaults } from '../options.js'
import { reply } from '../reply.js'
import { refOf } from '../send.js'

type Deps = ReturnType<typeof withDefaults<EndpointOptions>>

type Refuse = (c: KitContext, error: HttpError) => Response

/** Creates the app of a protocol. Its `routes` have paths below `root`. */
export function endpointApp(
  d: Deps,
  root: string,
  routes: Hono<KitEnv>,
  refuse: Refuse = refuseChat,
): Hono {
  const app = new Hono<KitEnv>()
  app.onError(async (error, c) => {
    // A request with a revoked key is refused for that reason, whatever else is wrong with it.
    if (isRefusal(error)) return refuse(c, await errorFor(c.get('requester'), errorIn(error)))
    d.onError?.(error, c.get('requestId'))
    return refuse(c, { kind: 'internal' })
  })
  app
    .use(`${root}/*`, exchange(d))
    .route(root, routes)
    .all(`${root}/*`, (c) => refuse(c, { kind: 'route_not_found' }))
  // A host does not see the variables of the routes.
  return app as unknown as Hono
}

/** Answers with an error, as the HTTP API does. */
function refuseChat(c: KitContext, error: HttpError): Response {
  const found = refusalOf(error)
  const { code, message, status } = found
  c.set('refusal', { errorCode: code })
  const issues = error.kind === 'invalid' ? { issues: error.issues } : {}
  const body = { error: { code, message, ...issues }, requestId: c.get('requestId') }
  return reply(c, status, body, refusalHeaders(found))
}

/** Accepts the callers who can make the call. */
export const allowChat = (d: Deps, call: CallName): MiddlewareHandler<KitEnv> =>
  allowAccess(d, { call }, refuseChat)

/** Reads the body of a request. Refuses any body that is not an object of JSON. */
export async function readObject(c: KitContext, d: Deps): Promise<JsonObject> {
  const body = await readJson(c, d.maxBodyBytes)
  return isJsonObject(body) ? body : refusal(MALFORMED)
}

const MALFORMED = {
  kind: 'body_malformed',
  reason: `must be a JSON object with ${jsonTextRule}`,
} as const

/** Writes the events of an answer, and its end if the stream ends before the answer. */
export type AnswerWriter = EventWriter & { interrupt(code: string): string }

/** Answers with the events of the message, from its first one. */
export async function replyAnswer(
  c: KitContext,
  d: Deps,
  message: Message,
  writer: AnswerWriter,
  refuse: Refuse = refuseChat,
): Promise<Response> {
  // Hono passes HEAD to a GET handler, and no caller would read the stream.
  if (c.req.method === 'HEAD') return refuse(c, { kind: 'method_not_allowed', allow: ['GET'] })
  const requester = c.get('requester')
  const { access } = requester
  const stream = await d.service.messages.stream({ ...refOf(message), access })
  // Undefined only for a reader that has seen the final message.
  if (!stream) return refuse(c, { kind: 'message_not_found' })
  const isRevoked = revocationCheck(requester, d)
  const end = (revoked: boolean) =>
    writer.interrupt(revoked ? 'UNAUTHORIZED' : 'STREAM_INTERRUPTED')
  return replyEvents(c, eventsOf(stream, { writer, isRevoked, end }))
}
