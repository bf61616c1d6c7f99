import { err, ok, type Result } from 'neverthrow'
import type { Agent } from '../domain/agent.js'
import { broken, textRule, type Invalid, type Rule } from '../domain/input-rules.js'
import {
  canonicalJson,
  isJsonObject,
  jsonProblem,
  type Json,
  type JsonObject,
} from '../domain/json.js'
import type { Limits } from '../domain/limits.js'
import {
  resolvePrincipal,
  type ExecutionPrincipal,
  type PrincipalError,
} from '../domain/principal.js'
import { parseTrace } from '../domain/trace.js'
import type { NewMessage } from '../ports/message-store.js'
import type { Platform } from '../platform.js'
import type { Caller } from './waiting-room.js'

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
  /** The id of a key that `keys.recall` returned. The send fails if the key is revoked. */
  readonly recalledKeyId?: string | undefined
}

/** Checks the fields that do not depend on the agent. */
export const checkInput = (input: SendInput, limits: Limits): Result<void, Invalid> =>
  broken(sendRules(input, limits)) ?? ok(undefined)

/** Creates the message to store. Resolves the principal by the rules of S§4.1. */
export function draftMessage(
  d: Platform,
  input: SendInput,
  agent: Agent,
): Result<NewMessage, PrincipalError> {
  const principal = resolvePrincipal(input.executionPrincipal, agent.defaultExecutionPrincipal)
  if (principal.isErr()) return err(principal.error)
  return ok(newMessage(d, input, agent, principal.value))
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
    id: d.ids.next(),
    projectId,
    agentId: agent.id,
    sessionId,
    message,
    executionPrincipal,
    now,
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
