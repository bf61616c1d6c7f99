import { isJsonObject, type JsonObject } from '@org/agent-messaging-core/runtime'
import { reply, type KitEnv } from '@org/agent-messaging-http-kit'
import { Hono, type Context } from 'hono'
import { err, ok, type Result } from 'neverthrow'
import { refuse, type Problem } from '../errors.js'
import { replyStream } from '../event-stream.js'
import { CHAT_FIELDS, fieldProblem } from '../fields.js'
import { readInput, type Input } from '../input.js'
import type { Deps } from '../options.js'
import { readCommon, type Common } from '../request.js'
import { refuseSend, replayed, sendAsked, sendRoute } from '../send.js'
import { answerOf, completionBody, endOf } from './body.js'
import { ChatEvents } from './events.js'

const FIELDS = { session: 'metadata.session_id', input: 'messages' }

/** `/chat/completions`: sends a message and waits for its answer. */
export const chatRoutes = (d: Deps) =>
  new Hono<KitEnv>().post('/chat/completions', ...sendRoute(d, complete))

async function complete(c: Context<KitEnv>, d: Deps, body: JsonObject): Promise<Response> {
  const read = readChatRequest(body)
  if (read.isErr()) return refuseSend(c, read.error)
  const { agent, stream, includeUsage, ...request } = read.value
  const sent = await sendAsked(
    c,
    d,
    { fields: FIELDS, agent, ...request },
    stream ? 0 : d.maxWaitMs,
  )
  if (sent.isErr()) return refuseSend(c, sent.error)
  const { message, attached } = sent.value
  if (stream) {
    const ref = { agent: message.agentId, messageId: message.id }
    return replyStream(c, d, ref, new ChatEvents(agent, includeUsage))
  }
  const answer = answerOf(message)
  return answer === undefined
    ? refuse(c, endOf(message))
    : reply(c, 200, completionBody(message, agent, answer), replayed(attached))
}

type ChatRequest = Common & {
  readonly input: Input
  readonly sessionId: string | undefined
  readonly includeUsage: boolean
}

/**
 * Reads the body of a request for a completion. A session that `metadata.session_id` names has its
 * own history: then only the last message is sent.
 */
function readChatRequest(body: JsonObject): Result<ChatRequest, Problem> {
  const field = fieldProblem(body, CHAT_FIELDS)
  if (field) return err(field)
  const options = body['stream_options']
  const includeUsage = isJsonObject(options) && options['include_usage'] === true
  return readCommon(body).andThen((common) =>
    readInput(body['messages'], { param: 'messages' }).andThen((input) => {
      const { session_id: sessionId, ...metadata } = common.metadata ?? {}
      const rest = { ...common, metadata: common.metadata && metadata }
      return ok({
        ...rest,
        sessionId,
        includeUsage,
        input: sessionId === undefined ? input : { ...input, earlierTurns: [] },
      })
    }),
  )
}
