import type { Access, Json, Message, Sent, ServiceError } from '@org/agent-messaging-core'
import {
  errorIn,
  isAgentName,
  isSettled,
  type EndpointService,
} from '@org/agent-messaging-core/host'
import { canonicalJson, isUuid, type InputPart } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { Caller } from './caller.js'
import type { KitEnv } from './access.js'
import type { EndpointOptions } from './options.js'

/** The project, and what a caller without an API key reaches there. */
export const callerOf = <E extends KitEnv>(c: Context<E>) => ({
  projectId: c.get('projectId'),
  access: c.get('requester').access,
})

/** Names a message in a call of the service. */
export const refOf = ({ projectId, agentId: agent, id: messageId }: Message) => ({
  projectId,
  agent,
  messageId,
})

export const isAgentRef = (agent: string): boolean => isAgentName(agent) || isUuid(agent)

/** On whose behalf the agent runs. Undefined: the principal of the agent. */
export const principalOf = (endUserId: string | undefined) =>
  endUserId === undefined ? undefined : { type: 'end_user', endUserId }

/** True if the send stored a message, or found one with this text and these parts. */
export const hasContent = (
  { message, attached }: Sent,
  text: string,
  parts: readonly InputPart[],
): boolean =>
  !attached ||
  canonicalJson([message.message, ...(message.inputParts ?? [])] as Json[]) ===
    canonicalJson([text, ...parts] as Json[])

type Wait = {
  readonly deadline: number
  readonly abort: Pick<Caller, 'aborted'>
  readonly access?: Access | undefined
}

/**
 * Waits longer than one call of the service can. A call that ends early means that the service
 * stops, that too many callers wait, or that the caller has left: then the wait ends. The answer
 * has its parts.
 */
export async function untilSettled(
  { service, now }: { readonly service: EndpointService; readonly now: () => number },
  sent: Message,
  { deadline, abort, access }: Wait,
): Promise<Message> {
  const ref = { ...refOf(sent), access }
  let message = sent
  while (!isSettled(message.state) && now() < deadline && !abort.aborted) {
    const startedAt = now()
    const waitMs = Math.min(deadline - startedAt, service.policy.syncWaitMs)
    const found = await service.messages.get({ ...ref, waitMs, abort }).catch(errorIn)
    if ('kind' in found) return message
    message = found
    if (now() - startedAt < waitMs / 2) return message
  }
  const { state } = message
  if (state.kind !== 'responded' || !state.hasParts || message.parts) return message
  const whole = await service.messages.get(ref).catch(errorIn)
  return 'kind' in whole ? message : whole
}

/** Returns what a request says about the send of its message, apart from the message. */
export const senderOf = <E extends KitEnv>(c: Context<E>) => ({
  ...callerOf(c),
  idempotencyKey: c.req.header('idempotency-key'),
  traceparent: c.req.header('traceparent'),
  tracestate: c.req.header('tracestate'),
  abort: new Caller(c),
  sentBy: c.get('requester').sentBy,
})
export type Sender = ReturnType<typeof senderOf>

type Invalid = Extract<ServiceError, { kind: 'invalid' }>

/** Duplicate headers arrive joined by a comma. */
export const idempotencyKeyProblem = (key: string | undefined): Invalid | undefined =>
  key?.includes(',')
    ? {
        kind: 'invalid',
        issues: [{ path: 'Idempotency-Key', message: 'must be sent once, and without a comma' }],
      }
    : undefined

/**
 * Names the session of a request that names none. A repeated request has the same session. With
 * other content, `given`, it is of another conversation. It is in the scope of the caller, if that
 * is a prefix.
 */
export const newSession = (
  { crypto, newId }: Pick<EndpointOptions, 'crypto' | 'newId'>,
  { access, kind }: { readonly access: Access | undefined; readonly kind: string },
  key: string | undefined,
  ...given: readonly unknown[]
): string => {
  const { sessions = 'all' } = access ?? {}
  const scope = sessions !== 'all' && 'prefix' in sessions ? sessions.prefix : ''
  const name = key === undefined ? newId() : crypto.sha256(JSON.stringify([key, ...given]))
  return `${scope}${kind}-${name}`
}
