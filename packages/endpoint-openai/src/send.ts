import type { Message } from '@org/agent-messaging-core'
import { isAgentName, isUuid, type JsonObject } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { err, ok, type Result } from 'neverthrow'
import { refuseUnauthorized } from './access.js'
import { Caller, type KitEnv, newSession, untilSettled } from '@org/agent-messaging-http-kit'
import { refuse, type EndpointError } from './errors.js'
import { problem } from './fields.js'
import type { Input } from './input.js'
import type { Deps } from './options.js'
import { readBody } from './request.js'

/** The fields of a request that become a message. Core has other names for them. */
type FieldNames = { readonly session: string; readonly input: string }

export type Asked = {
  readonly fields: FieldNames
  readonly agent: string
  readonly input: Input
  /** Absent: a new session. */
  readonly sessionId: string | undefined
  readonly endUserId: string | undefined
  readonly metadata: JsonObject | undefined
}

/** Stores the message, and waits up to `waitMs` for its answer. */
export async function sendAsked(
  c: Context<KitEnv>,
  d: Deps,
  asked: Asked,
  waitMs: number,
): Promise<Result<{ message: Message; attached: boolean }, EndpointError>> {
  const { agent, input, endUserId, metadata } = asked
  const idempotencyKey = c.req.header('idempotency-key')
  if (idempotencyKey?.includes(','))
    return err(problem('Idempotency-Key', 'must be sent once, and without a comma'))
  if (!isAgentName(agent) && !isUuid(agent)) return err({ kind: 'agent_not_found' })
  const abort = new Caller(c)
  const deadline = d.now() + waitMs
  const sent = await d.service.messages.send({
    projectId: c.get('projectId'),
    agent,
    sessionId: asked.sessionId ?? newSession(d, 'openai', idempotencyKey, endUserId, input),
    message: input.message,
    earlierTurns: input.earlierTurns,
    metadata,
    executionPrincipal: endUserId === undefined ? undefined : { type: 'end_user', endUserId },
    idempotencyKey,
    traceparent: c.req.header('traceparent'),
    tracestate: c.req.header('tracestate'),
    waitMs,
    abort,
    sentBy: c.get('access').sentBy,
  })
  if (sent.isErr()) return err(withFieldsOf(asked.fields, sent.error))
  const { message, attached } = sent.value
  return ok({ message: await untilSettled(d, message, { deadline, abort }), attached })
}

/** Puts the names of the request's fields into a refusal of core. */
function withFieldsOf({ session, input }: FieldNames, error: EndpointError): EndpointError {
  if (error.kind !== 'invalid') return error
  const names: Readonly<Record<string, string>> = {
    sessionId: session,
    message: input,
    earlierTurns: input,
  }
  const issues = error.issues.map(({ path, message }) => ({ path: names[path] ?? path, message }))
  return { ...error, issues }
}

/** Answers a request that sends. */
export async function answerSend(
  c: Context<KitEnv>,
  d: Deps,
  answer: (c: Context<KitEnv>, d: Deps, body: JsonObject) => Promise<Response>,
): Promise<Response> {
  const { service } = d
  const access = { service, permission: 'project:message', recalls: true } as const
  const refusal = await refuseUnauthorized(c, access)
  if (refusal) return refusal
  const body = await readBody(c, d.maxBodyBytes)
  return body.isErr() ? refuseSend(c, body.error) : answer(c, d, body.value)
}

/** Tells that an earlier request with the same key stored the message. */
export const replayed = (attached: boolean): Record<string, string> =>
  attached ? { 'Idempotent-Replayed': 'true' } : {}

/**
 * Refuses a request, or the revoked key that it was sent with. A storage that is not available does
 * not say whether the key is revoked.
 */
export const refuseSend = async (c: Context<KitEnv>, error: EndpointError): Promise<Response> => {
  const revoked = error.kind === 'unavailable' ? undefined : await c.get('access').confirm()
  return refuse(c, revoked ?? error)
}
