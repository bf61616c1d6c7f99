import { err, ok, ResultAsync, type Result } from 'neverthrow'
import type { Agent } from '../domain/agent.js'
import { fail } from '../domain/fail.js'
import type { Instant } from '../domain/instant.js'
import { canonicalJson, isJsonObject, jsonProblem, type Json, type JsonObject } from '../domain/json.js'
import type { Limits } from '../domain/limits.js'
import type { Message } from '../domain/message.js'
import { resolvePrincipal, type ExecutionPrincipal, type PrincipalError } from '../domain/principal.js'
import { parseTrace } from '../domain/trace.js'
import type { NewMessage } from '../ports/message-store.js'
import type { Unavailable } from '../ports/storage.js'
import type { Slot } from '../workers/dispatcher.js'
import type { Caller } from '../workers/waiting-room.js'
import type { Deps } from './deps.js'
import { broken, type Invalid, type Rule } from './invalid.js'
import { notRunning, type NotRunning } from './not-running.js'
import { textRule } from './text-rule.js'

export type SendInput = {
  readonly projectId: string
  /** The agent's id or name. */
  readonly agent: string
  readonly sessionId: string
  readonly message: string
  readonly metadata?: JsonObject | undefined
  /** Unparsed: an omitted, an incomplete and a malformed one have answers of their own (S§4.1 rules 1–3). */
  readonly executionPrincipal?: unknown
  readonly idempotencyKey?: string | undefined
  /** W3C Trace Context, as it came; what is malformed counts as none. */
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
  /** How long to wait for the answer; the policy's `syncWaitMs` when absent, and never longer than it. */
  readonly waitMs?: number | undefined
  /** Ends the waiting, never the work. */
  readonly abort?: Caller | undefined
}

/** `attached`: an earlier send with the same key made the message. */
export type Sent = { readonly message: Message; readonly attached: boolean }

export type SendError =
  | Invalid
  | PrincipalError
  | Unavailable
  | NotRunning
  | { readonly kind: 'agent_not_found' | 'session_full' | 'idempotency_mismatch' }

type SendDeps = Pick<Deps, 'storage' | 'dispatcher' | 'waitingRoom' | 'clock' | 'ids' | 'crypto' | 'telemetry' | 'policy'>

/** Stores the message durably, once for a key, and waits a bounded time for its answer (S§4.1). */
export const sendMessage =
  (d: SendDeps) =>
  (input: SendInput): ResultAsync<Sent, SendError> =>
    new ResultAsync(send(d, input))

/** Without `safeTry`: on this path its generators would cost as much as all the rest. */
async function send(d: SendDeps, input: SendInput): Promise<Result<Sent, SendError>> {
  const problem = broken(sendRules(input, d.policy.limits))
  if (problem) return problem
  const found = await d.storage.agents.get(input.projectId, input.agent)
  if (found.isErr()) return err(found.error)
  const agent = found.value
  if (!agent) return fail('agent_not_found')
  const principal = resolvePrincipal(input.executionPrincipal, agent.defaultExecutionPrincipal)
  if (principal.isErr()) return err(principal.error)

  // Undefined when the agent does not run here or has no free slot: the message is then only queued.
  const slot = d.dispatcher.reserve(agent.id)
  const now = d.clock.now()
  const born = newMessage(d, input, agent, principal.value, now, slot)
  const answered = await d.storage.messages.accept(born)
  if (answered.isErr() || answered.value.kind !== 'claimed') slot?.release()
  if (answered.isErr()) return err(answered.error)
  const accepted = answered.value
  if (accepted.kind === 'agent_not_running') return err(notRunning(agent, now))
  if (accepted.kind === 'agent_not_found') return fail('agent_not_found')
  if (accepted.kind === 'session_full') return fail('session_full')

  const message = accepted.kind === 'claimed' ? accepted.claimed.message : accepted.message
  const attached = accepted.kind === 'existing'
  if (attached && d.policy.onKeyMismatch === 'reject' && message.fingerprint !== born.fingerprint) return fail('idempotency_mismatch')
  d.telemetry.record({ name: 'message.accepted', messageId: message.id, agentId: agent.id, projectId: agent.projectId, attached })

  const waitMs = Math.min(input.waitMs ?? d.policy.syncWaitMs, d.policy.syncWaitMs)
  const answer = d.waitingRoom.wait(message, now + waitMs, input.abort) // listens from here on: before the run can end
  if (accepted.kind === 'claimed') slot?.run(accepted.claimed)
  if (accepted.kind === 'created') d.dispatcher.wake()
  return ok({ attached, message: await answer })
}

function newMessage(
  d: SendDeps,
  input: SendInput,
  agent: Agent,
  executionPrincipal: ExecutionPrincipal,
  now: Instant,
  slot: Slot | undefined,
): NewMessage {
  const { projectId, sessionId, message, metadata, idempotencyKey } = input
  const trace = parseTrace(input.traceparent, input.tracestate)
  return {
    ...{ id: d.ids.next(), projectId, agentId: agent.id, sessionId, message, executionPrincipal, now },
    ...(metadata && { metadata }),
    ...(trace && { trace }),
    ...(idempotencyKey !== undefined && { idempotencyKey, fingerprint: fingerprintOf(d, input) }),
    ...(slot && { claimUntil: now + d.policy.runLeaseMs }),
  }
}

/** Equal for equal requests, whatever the order of their keys. */
function fingerprintOf(d: SendDeps, { sessionId, message, metadata, executionPrincipal }: SendInput): string {
  const asked: JsonObject = { sessionId, message, metadata: metadata ?? null, executionPrincipal: (executionPrincipal ?? null) as Json }
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
