import type { Agent, Message, JsonObject } from '@org/agent-messaging-core'
import { errorIn, type CallName } from '@org/agent-messaging-core/host'
import {
  allowAccess,
  callerOf,
  type KitEnv,
  reply,
  RequestRefusal,
  type KitContext,
  replyAnswer,
  refOf,
} from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { refuse } from '../errors.js'
import { problem } from '../fields.js'
import { inputItemId, type MessageRef, parseResponseId, responseId } from '../ids.js'
import type { Deps } from '../options.js'
import { replayed, sendAsked, sendRoute } from '../send.js'
import { deletedMetadata, isDeleted, type Kept, metadataOf, responseBody } from './body.js'
import { ResponseEvents } from './events.js'
import { historyLimit, type Place, placeOf } from './place.js'
import { readReferences, readStored } from './references.js'
import { readResponseRequest, type ResponseRequest } from './request.js'

const FIELDS = {
  sessionId: 'conversation',
  message: 'input',
  earlierTurns: 'input',
  responseSchema: 'text.format',
}

/** `/responses`: sends a message, reads and cancels it. */
export const responseRoutes = (d: Deps) => {
  const allow = (call: CallName) => allowAccess<KitEnv>(d, { call }, refuse)
  return new Hono<KitEnv>()
    .post('/responses', ...sendRoute(d, createResponse))
    .get('/responses/:id', allow('messages.get'), (c) => withResponse(c, d, readResponse))
    .delete('/responses/:id', allow('messages.setMetadata'), (c) =>
      withResponse(c, d, deleteResponse),
    )
    .get('/responses/:id/input_items', allow('messages.history'), (c) =>
      withResponse(c, d, listInputItems),
    )
    .post('/responses/:id/cancel', allow('messages.cancel'), (c) =>
      withResponse(c, d, cancelResponse),
    )
}

async function createResponse(c: KitContext, d: Deps, body: JsonObject): Promise<Response> {
  const request = readResponseRequest(body, await readReferences(c, d, body['input']))
  const place = await placeOf(c, d, request)
  const { agent, endUserId, background, responseSchema } = request
  const waitMs = background || request.stream ? 0 : d.maxWaitMs
  const metadata = metadataOf(request.metadata, keptOf(request))
  const send = ({ sessionId, input }: Place) =>
    sendAsked(
      c,
      d,
      { fields: FIELDS, agent, input, sessionId, endUserId, metadata, responseSchema },
      waitMs,
    )
  const { original } = place
  const { message, attached } = await send(place).catch((thrown) => {
    // A repeated request finds its first message behind the previous one, which looks like a branch.
    if (original && errorIn(thrown).kind === 'idempotency_mismatch') return send(original)
    throw thrown
  })
  if (isDeleted(message)) return refuse(c, { kind: 'message_not_found' })
  if (request.stream) return streamResponse(c, d, message, agent)
  return reply(c, 200, responseBody(message, agent), replayed(attached))
}

const keptOf = ({ background, previous }: ResponseRequest): Kept => ({
  ...(background && { background }),
  ...(previous && { previous_response_id: previous.id }),
})

type Found = { readonly message: Message; readonly agent: Agent }

/** Finds the response that the path names. Another project's response counts as missing. */
async function withResponse(
  c: KitContext,
  d: Deps,
  answer: (c: KitContext, d: Deps, found: Found) => Promise<Response> | Response,
): Promise<Response> {
  const ref = parseResponseId(c.req.param('id') ?? '')
  if (!ref) return refuse(c, { kind: 'message_not_found' })
  return answer(c, d, await find(c, d, ref))
}

async function find(c: KitContext, d: Deps, ref: MessageRef): Promise<Found> {
  const message = await readStored(c, d, ref)
  return { message, agent: await d.service.agents.get({ ...callerOf(c), agent: ref.agent }) }
}

async function cancelResponse(
  c: KitContext,
  { service }: Deps,
  { message, agent }: Found,
): Promise<Response> {
  const { actor, access } = c.get('requester')
  const cancelled = await service.messages.cancel({ ...refOf(message), actor, access })
  return reply(c, 200, responseBody(cancelled, agent.name))
}

/** Hides the response from this endpoint. The message stays. */
async function deleteResponse(
  c: KitContext,
  { service }: Deps,
  { message }: Found,
): Promise<Response> {
  const metadata = deletedMetadata(message)
  await service.messages.setMetadata({ ...refOf(message), metadata })
  const body = { id: responseId(message), object: 'response.deleted', deleted: true }
  return reply(c, 200, body)
}

/** `?stream=true` reads all events from the first one. */
async function readResponse(c: KitContext, d: Deps, { message, agent }: Found): Promise<Response> {
  if (c.req.query('starting_after') !== undefined)
    return refuse(
      c,
      problem('starting_after', 'is not supported: a stream starts at its first event'),
    )
  // Hono passes HEAD to a GET handler, and no caller would read the stream.
  return c.req.query('stream') === 'true' && c.req.method !== 'HEAD'
    ? streamResponse(c, d, message, agent.name)
    : reply(c, 200, responseBody(message, agent.name))
}

const streamResponse = (
  c: KitContext,
  d: Deps,
  message: Message,
  model: string,
): Promise<Response> => replyAnswer(c, d, message, new ResponseEvents(model), refuse)

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/** Lists the message of a response, and before it the turns that the agent can read. */
async function listInputItems(
  c: KitContext,
  { service }: Deps,
  { message }: { readonly message: Message },
): Promise<Response> {
  const page = readPage(c)
  const { state } = message
  const limit = historyLimit(service.policy.limits.earlierTurnsLength)
  const found = await service.messages.history({ ...refOf(message), ...callerOf(c), ...limit })
  // The history ends with this message if it has an answer.
  const past = state.kind === 'responded' ? found.slice(0, -1) : found
  const texts = past.flatMap((turn): Spoken[] => [
    { role: 'user', text: turn.message },
    { role: 'assistant', text: turn.response },
  ])
  const newestFirst = [...texts, { role: 'user', text: message.message } as const]
    .toReversed()
    .map((spoken, place) => itemOf(inputItemId(message, place), spoken))
  const items = page.order === 'asc' ? newestFirst.toReversed() : newestFirst
  const start = page.after === undefined ? 0 : items.findIndex(({ id }) => id === page.after) + 1
  if (start === 0 && page.after !== undefined)
    return refuse(c, problem('after', 'must be the id of an item of this list'))
  const data = items.slice(start, start + page.limit)
  return reply(c, 200, {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + data.length < items.length,
  })
}

type Spoken = { readonly role: 'user' | 'assistant'; readonly text: string }

const itemOf = (id: string, { role, text }: Spoken) => ({
  type: 'message',
  id,
  status: 'completed',
  role,
  content: [
    role === 'user'
      ? { type: 'input_text', text }
      : { type: 'output_text', text, annotations: [], logprobs: [] },
  ],
})

type ItemPage = {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  readonly after: string | undefined
}

function readPage(c: KitContext): ItemPage {
  const { limit: given = String(DEFAULT_LIMIT), order = 'desc', after } = c.req.query()
  const limit = /^\d{1,3}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > MAX_LIMIT)
    throw new RequestRefusal(problem('limit', `must be a number from 1 to ${MAX_LIMIT}`))
  if (order !== 'asc' && order !== 'desc')
    throw new RequestRefusal(problem('order', 'must be asc or desc'))
  return { limit, order, after }
}
