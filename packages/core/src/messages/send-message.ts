import { err, ok, ResultAsync, type Result } from 'neverthrow'
import type { Agent } from '../domain/agent.js'
import { fail } from '../domain/fail.js'
import {
  canonicalJson,
  isJsonObject,
  jsonProblem,
  type Json,
  type JsonObject,
} from '../domain/json.js'
import type { Limits } from '../domain/limits.js'
import type { Message } from '../domain/message.js'
import {
  resolvePrincipal,
  type ExecutionPrincipal,
  type PrincipalError,
} from '../domain/principal.js'
import { parseTrace } from '../domain/trace.js'
import type { Accepted, NewMessage } from '../ports/message-store.js'
import type { AcceptStores } from '../ports/storage.js'
import type { Unavailable } from '../ports/stored.js'
import type { Caller } from './waiting-room.js'
import type { MessagesContext } from './context.js'
import type { Platform } from '../platform.js'
import { broken, type Invalid, type Rule } from '../domain/input-rules.js'
import { notRunning, type NotRunning } from '../domain/agent.js'
import { textRule } from '../domain/input-rules.js'

export type SendInput = {
  readonly projectId: string
  /** The agent's id or name. */
  readonly agent: string
  readonly sessionId: string
  readonly message: string
  readonly metadata?: JsonObject | undefined
  /**
   * Unparsed, because an omitted, an incomplete and a malformed principal have different answers
   * (S§4.1 rules 1 to 3).
   */
  readonly executionPrincipal?: unknown
  readonly idempotencyKey?: string | undefined
  /** W3C Trace Context as received. A malformed one is ignored. */
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
  /**
   * How long to wait for the answer: the policy's `syncWaitMs` at most, which is also the default.
   */
  readonly waitMs?: number | undefined
  /** Ends the wait, never the run. */
  readonly abort?: Caller | undefined
}

/** `attached`: an earlier send with the same key stored the message. */
export type Sent = { readonly message: Message; readonly attached: boolean }

export type SendError =
  | Invalid
  | PrincipalError
  | Unavailable
  | NotRunning
  | { readonly kind: 'agent_not_found' | 'session_full' | 'idempotency_mismatch' }

/** Stores the message durably, once per key, and waits a bounded time for its answer (S§4.1). */
export const sendMessage =
  (d: MessagesContext) =>
  (input: SendInput): ResultAsync<Sent, SendError> => {
    const waitMs = Math.min(input.waitMs ?? d.policy.syncWaitMs, d.policy.syncWaitMs)
    return new ResultAsync(send(d, input, d.clock.elapsed() + waitMs))
  }

/**
 * Accepts the message in a transaction of the host, such as the one that writes the order which
 * the message is about. Both commit, or neither. The message is queued, and the next poll of a
 * process that runs the agent finds it. The call does not wait for the answer.
 */
export const enqueueMessage =
  (d: Platform) =>
  (
    input: Omit<SendInput, 'waitMs' | 'abort'>,
    transaction: AcceptStores,
  ): ResultAsync<Sent, SendError> =>
    new ResultAsync(enqueue(d, input, transaction))

async function enqueue(
  d: Platform,
  input: SendInput,
  stores: AcceptStores,
): Promise<Result<Sent, SendError>> {
  const drafted = await draft(d, input, stores.agents)
  if (drafted.isErr()) return err(drafted.error)
  const accepted = await stores.messages.accept(drafted.value.message)
  return accepted.isErr() ? err(accepted.error) : sentOf(d, drafted.value, accepted.value)
}

/**
 * Avoids `safeTry`, whose generators would double the cost of this path. `deadline` is in elapsed
 * time.
 */
async function send(
  d: MessagesContext,
  input: SendInput,
  deadline: number,
): Promise<Result<Sent, SendError>> {
  const drafted = await draft(d, input, d.storage.agents)
  if (drafted.isErr()) return err(drafted.error)
  const { agent, message: born } = drafted.value

  // Undefined if the agent does not run here or has no free slot: then the message is queued.
  const slot = d.dispatcher.reserve(agent.id, born.sessionId)
  const answered = await d.storage.messages.accept(
    slot ? { ...born, claimUntil: born.now + d.policy.runLeaseMs } : born,
  )
  if (answered.isErr() || answered.value.kind !== 'claimed') slot?.release()
  if (answered.isErr()) return err(answered.error)
  const accepted = answered.value
  if (accepted.kind === 'agent_not_running' && isStarting(agent) && d.clock.elapsed() < deadline)
    return sendAfterStart(d, input, agent, deadline)
  const sent = sentOf(d, drafted.value, accepted)
  if (sent.isErr()) return err(sent.error)

  const { attached, message } = sent.value
  // Listens before the run can end.
  const answer = d.waitingRoom.wait(message, deadline, input.abort)
  if (accepted.kind === 'claimed') slot?.run(accepted.claimed)
  if (accepted.kind === 'created') d.dispatcher.wake(agent.id)
  // An await would keep this frame in memory for the whole wait.
  return answer.then((seen) => ok({ attached, message: seen }))
}

const isStarting = ({ state }: Agent): boolean => state.kind === 'starting'

/**
 * Waits for the agent's start within the caller's wait, and sends again. The message is not stored
 * before the agent runs.
 */
async function sendAfterStart(
  d: MessagesContext,
  input: SendInput,
  agent: Agent,
  deadline: number,
): Promise<Result<Sent, SendError>> {
  await d.agentStarts.wait(agent, deadline, input.abort)
  const hasTime = d.clock.elapsed() < deadline && !d.stopping.aborted && !input.abort?.aborted
  return hasTime ? send(d, input, deadline) : send(d, input, -Infinity)
}

type Draft = { readonly agent: Agent; readonly message: NewMessage }

/** Checks the request and creates the message to store. */
async function draft(
  d: Platform,
  input: SendInput,
  agents: AcceptStores['agents'],
): Promise<Result<Draft, SendError>> {
  const problem = broken(sendRules(input, d.policy.limits))
  if (problem) return problem
  const found = await agents.get(input.projectId, input.agent)
  if (found.isErr()) return err(found.error)
  const agent = found.value
  if (!agent) return fail('agent_not_found')
  const principal = resolvePrincipal(input.executionPrincipal, agent.defaultExecutionPrincipal)
  if (principal.isErr()) return err(principal.error)
  return ok({ agent, message: newMessage(d, input, agent, principal.value) })
}

function sentOf(
  d: Platform,
  { agent, message: born }: Draft,
  accepted: Accepted,
): Result<Sent, SendError> {
  if (accepted.kind === 'agent_not_running') return err(notRunning(agent, born.now))
  if (accepted.kind === 'agent_not_found') return fail('agent_not_found')
  if (accepted.kind === 'session_full') return fail('session_full')
  const message = accepted.kind === 'claimed' ? accepted.claimed.message : accepted.message
  const attached = accepted.kind === 'existing'
  if (attached && d.policy.onKeyMismatch === 'reject' && message.fingerprint !== born.fingerprint)
    return fail('idempotency_mismatch')
  d.telemetry.record({
    name: 'message.accepted',
    messageId: message.id,
    agentId: agent.id,
    projectId: agent.projectId,
    attached,
  })
  return ok({ attached, message })
}

function newMessage(
  d: Platform,
  input: SendInput,
  agent: Agent,
  executionPrincipal: ExecutionPrincipal,
): NewMessage {
  const { projectId, sessionId, message, metadata, idempotencyKey } = input
  const now = d.clock.now()
  const trace = parseTrace(input.traceparent, input.tracestate)
  return {
    ...{
      id: d.ids.next(),
      projectId,
      agentId: agent.id,
      sessionId,
      message,
      executionPrincipal,
      now,
    },
    ...(metadata && { metadata }),
    ...(trace && { trace }),
    ...(idempotencyKey !== undefined && { idempotencyKey, fingerprint: fingerprintOf(d, input) }),
  }
}

/** Returns equal texts for equal requests, in any order of their keys. */
function fingerprintOf(
  d: Platform,
  { sessionId, message, metadata, executionPrincipal }: SendInput,
): string {
  const asked: JsonObject = {
    sessionId,
    message,
    metadata: metadata ?? null,
    executionPrincipal: (executionPrincipal ?? null) as Json,
  }
  return d.crypto.sha256(canonicalJson(asked))
}

function sendRules(input: SendInput, limits: Limits): Record<string, Rule> {
  return {
    sessionId: textRule(input.sessionId, limits.sessionIdLength),
    message: textRule(input.message, limits.messageLength),
    metadata: metadataRule(input.metadata, limits),
    'Idempotency-Key': keyRule(input.idempotencyKey, limits),
  }
}

function metadataRule(metadata: unknown, limits: Limits): Rule {
  if (metadata === undefined) return undefined
  if (!isJsonObject(metadata)) return 'must be an object'
  const problem = jsonProblem(metadata, limits.metadataDepth)
  if (problem !== undefined) return problem
  return JSON.stringify(metadata).length > limits.metadataLength
    ? `must have at most ${limits.metadataLength} characters as JSON`
    : undefined
}

function keyRule(key: string | undefined, limits: Limits): Rule {
  if (key === undefined) return undefined
  const fits = /^[\x20-\x7e]+$/.test(key) && key.length <= limits.idempotencyKeyLength
  return fits ? undefined : `must be 1 to ${limits.idempotencyKeyLength} printable ASCII characters`
}
