import { err, ok, type Result } from 'neverthrow'
import type { ByAccess } from '../domain/access/access.js'
import type { Agent } from '../domain/agents/agent.js'
import type { EarlierTurn } from '../domain/messages/history.js'
import { broken, textRule, type Invalid, type Rule } from '../domain/values/input-rules.js'
import { canonicalJson, isStorableText, type Json, type JsonObject } from '../domain/values/json.js'
import { given } from '../domain/values/given.js'
import type { Limits } from '../domain/values/limits.js'
import { resolvePrincipal, type PrincipalError } from '../domain/access/principal.js'
import {
  acceptsText,
  inputPartOf,
  inputPartRules,
  type InputPart,
} from '../domain/messages/input-part.js'
import { metadataRule } from '../domain/messages/metadata-rule.js'
import { responseSchemaRule } from '../domain/messages/response-schema.js'
import { parseTrace } from '../domain/messages/trace.js'
import { countOfMessage } from '../domain/operations/counts.js'
import type { NewMessage } from '../ports/message-store.js'
import type { Platform } from '../platform.js'
import type { SendingKey } from './earlier-reads.js'
import type { SendWebhook } from '../domain/messages/message-hook.js'
import { newHook, newSendWebhook, type HookInput } from './message-hooks.js'
import type { Caller } from '../ports/stored.js'
import type { ActiveSpan } from '../ports/tracing.js'

export type SendInput = ByAccess & {
  readonly projectId: string
  /** The agent's id or name. */
  readonly agent: string
  /** The conversation, named by the caller: at most `limits.sessionIdLength` characters. */
  readonly sessionId: string
  /** At most `limits.messageLength` characters. */
  readonly message: string
  /** Data, and files by reference, for an agent that takes them. At most 20, and 64 Ki characters. */
  readonly parts?: readonly InputPart[] | undefined
  /** The answer must be JSON that matches this JSON Schema, with the keywords of questions. */
  readonly responseSchema?: JsonObject | undefined
  /** JSON that comes back with the message and its events. */
  readonly metadata?: JsonObject | undefined
  /** Turns that took place elsewhere. The session's `history` has them before this message. */
  readonly earlierTurns?: readonly EarlierTurn[] | undefined
  /**
   * On whose behalf the agent runs: `{ type: 'service' }`, or `end_user` with an `endUserId`.
   * Default: the one of the agent. Unparsed, because an omitted, an incomplete and a malformed
   * principal have different answers (see `resolvePrincipal`).
   */
  readonly executionPrincipal?: unknown
  /** Sends with one key make one message, whose answer each of them gets. */
  readonly idempotencyKey?: string | undefined
  /** W3C Trace Context as received. A malformed one is ignored. */
  readonly traceparent?: string | undefined
  /** W3C Trace Context, beside `traceparent`. */
  readonly tracestate?: string | undefined
  /**
   * How long to wait for the answer: the policy's `syncWaitMs` at most, which is also the default.
   */
  readonly waitMs?: number | undefined
  /** Gets the events of the message, and is not a webhook of the project. A repeat adds none. */
  readonly webhook?: SendWebhook | undefined
  /** A push config of A2A that is stored with the message. A send has it or `webhook`. */
  readonly hook?: HookInput | undefined
  /** Ends the wait, never the run. */
  readonly abort?: Caller | undefined
  /** The API key that sends, for its limit. */
  readonly sentBy?: SendingKey | undefined
}

/** Checks the fields that do not depend on the agent. */
export const checkInput = (input: SendInput, limits: Limits): Result<void, Invalid> =>
  broken(sendRules(input, limits)) ?? ok(undefined)

/** The message to store, and the span of its send, which the commit ends. */
export type Draft = { readonly span: ActiveSpan; readonly born: NewMessage }

export type Drafting = Pick<Platform, 'clock' | 'crypto' | 'ids' | 'runtimes' | 'tracing'>

/** Creates the message to store. Resolves the principal. Refuses what the agent cannot get. */
export function draftMessage(
  d: Drafting,
  input: SendInput,
  agent: Agent,
): Result<Draft, PrincipalError | Invalid> {
  const { projectId, sessionId, message, metadata, idempotencyKey, earlierTurns = [] } = input
  const { parts = [], responseSchema } = input
  const refused = broken(refusalsOf(d.runtimes, input, agent))
  if (refused) return refused
  const span = d.tracing.start({
    name: 'message.send',
    parent: parseTrace(input.traceparent, input.tracestate),
    details: { projectId, sessionId, agentId: agent.id },
  })
  const principal = resolvePrincipal(input.executionPrincipal, agent.defaultExecutionPrincipal)
  if (principal.isErr()) {
    span.end({ error: principal.error.kind })
    return err(principal.error)
  }
  // Runs and deliveries belong to the trace that the message stores.
  const { trace } = span
  const now = d.clock.now()
  const id = d.ids.next()
  const born = {
    id,
    projectId,
    agentId: agent.id,
    sessionId,
    message,
    executionPrincipal: principal.value,
    now,
    ...(parts.length > 0 && { inputParts: parts.map(inputPartOf) }),
    responseSchema,
    metadata,
    trace,
    ...(earlierTurns.length > 0 && { earlierTurns }),
    ...(idempotencyKey !== undefined && { idempotencyKey, fingerprint: fingerprintOf(d, input) }),
    ...hookOf(d, input, id),
    count: countOfMessage({ ...input, agentId: agent.id }, now),
  }
  return ok({ span, born })
}

/** The parts and the schema of a send that agents of this kind do not get. */
function refusalsOf(
  runtimes: Platform['runtimes'],
  { parts = [], responseSchema }: SendInput,
  { runtime: { kind, options } }: Agent,
): Record<string, Rule> {
  const rules: Record<string, Rule> = {}
  const runtime = runtimes.get(kind)
  for (const [index, part] of parts.entries())
    rules[`parts.${index}`] = runtime?.accepts
      ? runtime.accepts(inputPartOf(part), options)
      : acceptsText()
  if (responseSchema && !runtime?.takesResponseSchema)
    rules['responseSchema'] = `is not supported by agents of kind ${kind}`
  return rules
}

function hookOf(d: Drafting, { projectId, hook, webhook }: SendInput, messageId: string) {
  const ref = { projectId, messageId }
  if (hook) return { hook: newHook(d, ref, hook) }
  return webhook && { hook: newSendWebhook(d, ref, webhook) }
}

/**
 * Returns equal texts for equal requests, in any order of their keys. Covers the webhook: a repeat
 * with another secret would wait for deliveries that it cannot verify.
 */
function fingerprintOf(d: Pick<Platform, 'crypto'>, input: SendInput): string {
  const { sessionId, message, metadata, executionPrincipal, webhook } = input
  const { parts = [], responseSchema, earlierTurns = [] } = input
  const asked: JsonObject = {
    sessionId,
    message,
    metadata: metadata ?? null,
    executionPrincipal: (executionPrincipal ?? null) as Json,
  }
  if (earlierTurns.length > 0)
    asked['earlierTurns'] = earlierTurns.map(({ message, response }) => ({ message, response }))
  if (parts.length > 0) asked['parts'] = parts.map(inputPartOf) as Json[]
  if (responseSchema) asked['responseSchema'] = responseSchema
  // A hash of the secret itself would let a reader of the database guess it.
  if (webhook)
    asked['webhook'] = {
      ...(given(webhook) as JsonObject),
      secret: d.crypto.mac('webhook of a send', webhook.secret),
    }
  return d.crypto.sha256(canonicalJson(asked))
}

function sendRules(input: SendInput, limits: Limits): Record<string, Rule> {
  return {
    sessionId: textRule(input.sessionId, limits.sessionIdLength),
    message: textRule(input.message, limits.messageLength),
    ...inputPartRules(input.parts),
    responseSchema: responseSchemaRule(input.responseSchema),
    metadata: metadataRule(input.metadata, limits),
    earlierTurns: earlierTurnsRule(input.earlierTurns, limits),
    'Idempotency-Key': keyRule(input.idempotencyKey, limits),
  }
}

function earlierTurnsRule(
  turns: readonly Partial<EarlierTurn>[] | undefined,
  { earlierTurnsLength: max }: Limits,
): Rule {
  if (turns === undefined) return undefined
  if (!Array.isArray(turns)) return 'must be a list of turns'
  const texts = turns.flatMap((turn: Partial<EarlierTurn> | null) => [
    turn?.message,
    turn?.response,
  ])
  if (!texts.every((text) => typeof text === 'string')) return 'must be a list of turns'
  if (!texts.every((text) => isStorableText(text))) return 'must not contain NUL or lone surrogates'
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  return length > max ? `must have at most ${max} characters` : undefined
}

export function keyRule(key: unknown, limits: Limits): Rule {
  if (key === undefined) return undefined
  const fits =
    typeof key === 'string' &&
    /^[\x20-\x7e]+$/.test(key) &&
    key.length <= limits.idempotencyKeyLength
  return fits ? undefined : `must be 1 to ${limits.idempotencyKeyLength} printable ASCII characters`
}
