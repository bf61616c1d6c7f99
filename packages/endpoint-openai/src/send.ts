import type { Message, JsonObject } from '@org/agent-messaging-core'
import type { MiddlewareHandler } from 'hono'
import {
  allowAccess,
  idempotencyKeyProblem,
  newSession,
  readObject,
  RequestRefusal,
  refuseAs,
  senderOf,
  untilSettled,
  type KitEnv,
  type KitContext,
  isAgentRef,
  principalOf,
} from '@org/agent-messaging-http-kit'
import { refuse } from './errors.js'
import type { Input } from './input.js'
import type { Deps } from './options.js'

export type Asked = {
  /** The fields of the request, by the names that core has for them. */
  readonly fields: Readonly<Record<string, string>>
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
  c: KitContext,
  d: Deps,
  asked: Asked,
  waitMs: number,
): Promise<{ message: Message; attached: boolean }> {
  const { agent, input, endUserId, metadata, responseSchema } = asked
  const sender = senderOf(c)
  const { idempotencyKey, abort, access } = sender
  const refused = idempotencyKeyProblem(idempotencyKey)
  if (refused) throw new RequestRefusal(refused)
  if (!isAgentRef(agent)) throw new RequestRefusal({ kind: 'agent_not_found' })
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
    executionPrincipal: principalOf(endUserId),
    waitMs,
  })
  const { message, attached } = await sending.catch(refuseAs(asked.fields))
  return { message: await untilSettled(d, message, { deadline, abort, access }), attached }
}

/** Answers a request that sends. */
export const sendRoute = (
  d: Deps,
  answer: (c: KitContext, d: Deps, body: JsonObject) => Promise<Response>,
): [MiddlewareHandler<KitEnv>, (c: KitContext) => Promise<Response>] => [
  allowAccess(d, { recalls: true, call: 'messages.send' }, refuse),
  async (c) => answer(c, d, await readObject(c, d)),
]

/** Tells that an earlier request with the same key stored the message. */
export const replayed = (attached: boolean): Record<string, string> =>
  attached ? { 'Idempotent-Replayed': 'true' } : {}
