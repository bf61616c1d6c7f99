import type { Message, JsonObject } from '@org/agent-messaging-core'
import { isUuid } from '@org/agent-messaging-core/runtime'
import { isAgentName, errorIn } from '@org/agent-messaging-core/host'
import type { Context, MiddlewareHandler } from 'hono'
import {
  allowAccess,
  idempotencyKeyProblem,
  newSession,
  readObject,
  refusal,
  RequestRefusal,
  senderOf,
  untilSettled,
  type KitEnv,
} from '@org/agent-messaging-http-kit'
import { refuse, type EndpointError } from './errors.js'
import type { Input } from './input.js'
import type { Deps } from './options.js'

/** The fields of a request that become a message. Core has other names for them. */
type FieldNames = { readonly session: string; readonly input: string; readonly format: string }

export type Asked = {
  readonly fields: FieldNames
  readonly agent: string
  readonly input: Input
  /** Absent: a new session. */
  readonly sessionId: string | undefined
  readonly endUserId: string | undefined
  readonly metadata: JsonObject | undefined
  /** The answer is JSON that matches it. */
  readonly responseSchema: JsonObject | undefined
}

/** Stores the message, and waits up to `waitMs` for its answer. */
export async function sendAsked(
  c: Context<KitEnv>,
  d: Deps,
  asked: Asked,
  waitMs: number,
): Promise<{ message: Message; attached: boolean }> {
  const { agent, input, endUserId, metadata, responseSchema } = asked
  const sender = senderOf(c)
  const { idempotencyKey, abort, access } = sender
  const refused = idempotencyKeyProblem(idempotencyKey)
  if (refused) throw new RequestRefusal(refused)
  if (!isAgentName(agent) && !isUuid(agent)) throw new RequestRefusal({ kind: 'agent_not_found' })
  const deadline = d.now() + waitMs
  const sending = d.service.messages.send({
    agent,
    ...sender,
    sessionId:
      asked.sessionId ??
      newSession(d, { access, kind: 'openai' }, idempotencyKey, endUserId, input),
    message: input.message,
    earlierTurns: input.earlierTurns,
    metadata,
    responseSchema,
    executionPrincipal: endUserId === undefined ? undefined : { type: 'end_user', endUserId },
    waitMs,
  })
  const { message, attached } = await sending.catch((thrown) =>
    refusal(withFieldsOf(asked.fields, errorIn(thrown))),
  )
  return { message: await untilSettled(d, message, { deadline, abort, access }), attached }
}

/** Puts the names of the request's fields into a refusal of core. */
function withFieldsOf({ session, input, format }: FieldNames, error: EndpointError): EndpointError {
  if (error.kind !== 'invalid') return error
  const names: Readonly<Record<string, string>> = {
    sessionId: session,
    message: input,
    earlierTurns: input,
    responseSchema: format,
  }
  const issues = error.issues.map(({ path, message }) => ({ path: names[path] ?? path, message }))
  return { ...error, issues }
}

/** Answers a request that sends. */
export const sendRoute = (
  d: Deps,
  answer: (c: Context<KitEnv>, d: Deps, body: JsonObject) => Promise<Response>,
): [MiddlewareHandler<KitEnv>, (c: Context<KitEnv>) => Promise<Response>] => [
  allowAccess(d, { recalls: true, call: 'messages.send' }, refuse),
  async (c) => answer(c, d, await readObject(c, d)),
]

/** Tells that an earlier request with the same key stored the message. */
export const replayed = (attached: boolean): Record<string, string> =>
  attached ? { 'Idempotent-Replayed': 'true' } : {}
