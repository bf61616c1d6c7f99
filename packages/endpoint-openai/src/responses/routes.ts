import { type Agent, type Message } from '@org/agent-messaging-core'
import { type JsonObject } from '@org/agent-messaging-core/runtime'
import { allowAccess, reply, type KitEnv } from '@org/agent-messaging-http-kit'
import { Hono, type Context } from 'hono'
import { err, ok, type Result } from 'neverthrow'
import { refuse, type EndpointError } from '../errors.js'
import { replyStream } from '../event-stream.js'
import { problem } from '../fields.js'
import { parseResponseId, responseId, type MessageRef } from '../ids.js'
import type { Deps } from '../options.js'
import { refuseSend, replayed, sendAsked, sendRoute } from '../send.js'
import { deletedMetadata, isDeleted, metadataOf, responseBody, type Kept } from './body.js'
import { ResponseEvents } from './events.js'
import { listInputItems } from './input-items.js'
import { placeOf, type Place } from './place.js'
import { readReferences, readStored } from './references.js'
import { readResponseRequest, type ResponseRequest } from './request.js'

const FIELDS = { session: 'conversation', input: 'input' }

/** `/responses`: sends a message, reads and cancels it. */
export const responseRoutes = (d: Deps) => {
  const access = allowAccess<KitEnv>(d, { permission: 'project:message' }, refuse)
  return new Hono<KitEnv>()
    .post('/responses', ...sendRoute(d, createResponse))
    .get('/responses/:id', access, (c) => withResponse(c, d, readResponse))
    .delete('/responses/:id', access, (c) => withResponse(c, d, deleteResponse))
    .get('/responses/:id/input_items', access, (c) => withResponse(c, d, listInputItems))
    .post('/responses/:id/cancel', access, (c) => withResponse(c, d, cancelResponse))
}

async function createResponse(c: Context<KitEnv>, d: Deps, body: JsonObject): Promise<Response> {
  const answers = await readReferences(c, d, body['input'])
  if (answers.isErr()) return refuseSend(c, answers.error)
  const read = readResponseRequest(body, answers.value)
  if (read.isErr()) return refuseSend(c, read.error)
  const request = read.value
  const place = await placeOf(c, d, request)
  if (place.isErr()) return refuseSend(c, place.error)
  const { agent, endUserId, background } = request
  const waitMs = background || request.stream ? 0 : d.maxWaitMs
  const metadata = metadataOf(request.metadata, keptOf(request))
  const send = ({ sessionId, input }: Place) =>
    sendAsked(c, d, { fields: FIELDS, agent, input, sessionId, endUserId, metadata }, waitMs)
  let sent = await send(place.value)
  const { original } = place.value
  // A repeated request finds its first message behind the previous one, which looks like a branch.
  if (sent.isErr() && sent.error.kind === 'idempotency_mismatch' && original)
    sent = await send(original)
  if (sent.isErr()) return refuseSend(c, sent.error)
  const { message, attached } = sent.value
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
  c: Context<KitEnv>,
  d: Deps,
  answer: (c: Context<KitEnv>, d: Deps, found: Found) => Promise<Response> | Response,
): Promise<Response> {
  const ref = parseResponseId(c.req.param('id') ?? '')
  if (!ref) return refuse(c, { kind: 'message_not_found' })
  const found = await find(c, d, ref)
  return found.isErr() ? refuse(c, found.error) : answer(c, d, found.value)
}

async function find(
  c: Context<KitEnv>,
  d: Deps,
  ref: MessageRef,
): Promise<Result<Found, EndpointError>> {
  const projectId = c.get('projectId')
  const message = await readStored(c, d, ref)
  if (message.isErr()) return err(message.error)
  const agent = await d.service.agents.get({ projectId, agent: ref.agent })
  return agent.isErr() ? err(agent.error) : ok({ message: message.value, agent: agent.value })
}

async function cancelResponse(
  c: Context<KitEnv>,
  { service }: Deps,
  { message, agent }: Found,
): Promise<Response> {
  const { actor } = c.get('access')
  const cancelled = await service.messages.cancel({ ...refOf(message), actor })
  return cancelled.match(
    (value) => reply(c, 200, responseBody(value, agent.name)),
    (error) => refuse(c, error),
  )
}

const refOf = ({ projectId, agentId: agent, id: messageId }: Message) => ({
  projectId,
  agent,
  messageId,
})

/** Hides the response from this endpoint. The message stays. */
async function deleteResponse(
  c: Context<KitEnv>,
  { service }: Deps,
  { message }: Found,
): Promise<Response> {
  const metadata = deletedMetadata(message)
  const deleted = await service.messages.setMetadata({ ...refOf(message), metadata })
  const body = { id: responseId(message), object: 'response.deleted', deleted: true }
  return deleted.match(
    () => reply(c, 200, body),
    (error) => refuse(c, error),
  )
}

/** `?stream=true` reads all events from the first one. */
async function readResponse(
  c: Context<KitEnv>,
  d: Deps,
  { message, agent }: Found,
): Promise<Response> {
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
  c: Context<KitEnv>,
  d: Deps,
  { agentId, id }: Message,
  model: string,
): Promise<Response> =>
  replyStream(c, d, { agent: agentId, messageId: id }, new ResponseEvents(model))
