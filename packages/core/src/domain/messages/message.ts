import type { EventPayload } from '../webhooks/event.js'
import { echoOf } from '../webhooks/event.js'
import { toIso, type Instant } from '../values/instant.js'
import type { JsonObject } from '../values/json.js'
import type { InputPart } from './input-part.js'
import type { MessageInput } from './message-input.js'
import type { AnswerParts } from './part.js'
import type { ExecutionPrincipal } from '../access/principal.js'
import type { FinishedRun, RunError } from './run.js'
import type { TraceContext } from './trace.js'
import type { RunUsage } from '../operations/usage.js'

/** A client's message to an agent, with its state. */
export type Message = {
  readonly id: string
  readonly projectId: string
  readonly agentId: string
  readonly sessionId: string
  readonly message: string
  /** What the sender gave beside the text. */
  readonly inputParts?: readonly InputPart[]
  /** JSON Schema of the answer, which is JSON then. */
  readonly responseSchema?: JsonObject | undefined
  readonly metadata?: JsonObject | undefined
  readonly executionPrincipal: ExecutionPrincipal
  /** A digest of the request. It shows whether a key is used with another request. */
  readonly fingerprint?: string
  /**
   * The trace context of the request. The message's runs and deliveries belong to the same trace.
   */
  readonly trace?: TraceContext | undefined
  /**
   * The number of started runs. The store counts a run before it starts, so `maxAttempts: 1`
   * holds.
   */
  readonly attempt: number
  /** The questions that the runs asked, in their order. The last one can lack its answer. */
  readonly inputs?: readonly MessageInput[]
  readonly state: MessageState
  readonly createdAt: Instant
  /** Present after a read of one message, if its state has `hasParts`. Lists do not read it. */
  readonly parts?: AnswerParts | undefined
}

/** On the wire, `status` has two words: `pending` is every state except `responded`. */
export type MessageState =
  | { readonly kind: 'queued'; readonly notBefore: Instant }
  | { readonly kind: 'running'; readonly startedAt: Instant }
  | { readonly kind: 'deferred'; readonly startedAt: Instant; readonly deadlineAt: Instant }
  /**
   * A person is asked. `dueAt` is the time of the reminder, and after the reminder the deadline.
   */
  | {
      readonly kind: 'input_required'
      readonly askedAt: Instant
      readonly deadlineAt: Instant
      readonly dueAt: Instant
    }
  | {
      readonly kind: 'responded'
      readonly response: string
      readonly respondedAt: Instant
      readonly responseTimeMs: number
      readonly usage?: RunUsage | undefined
      /** The answer is more than text, and its parts are stored. */
      readonly hasParts?: true
    }
  | { readonly kind: 'failed'; readonly error: RunError; readonly failedAt: Instant }
  | { readonly kind: 'cancelled'; readonly cancelledAt: Instant }

export type MessageStateKind = MessageState['kind']
export const MESSAGE_STATES = [
  'queued',
  'running',
  'deferred',
  'input_required',
  'responded',
  'failed',
  'cancelled',
] as const satisfies readonly MessageStateKind[]
/** The states that a finished run can lead to. */
export type AfterRun = Extract<MessageState, { kind: 'queued' | 'responded' | 'failed' }>
export type CancelledState = Extract<MessageState, { kind: 'cancelled' }>
export type AskingState = Extract<MessageState, { kind: 'input_required' }>
export type DeferredState = Extract<MessageState, { kind: 'deferred' }>
export type RunningMessage = Message & {
  readonly state: Extract<MessageState, { kind: 'running' | 'deferred' }>
}

type FailedRun = Extract<FinishedRun, { kind: 'failed' }>

/** True if the state is final. A person can retry a failed or cancelled message. */
export const isFinal = (
  state: MessageState,
): state is Extract<MessageState, { kind: 'responded' | 'failed' | 'cancelled' }> =>
  state.kind === 'responded' || state.kind === 'failed' || state.kind === 'cancelled'

/** `waiting`: no run has started. `working`: a run goes on, or another one follows. */
export type MessageProgress = 'waiting' | 'working'

/** Returns undefined for a final message, and for one that waits for a person. */
export function progressOf({ attempt, inputs, state }: Message): MessageProgress | undefined {
  if (state.kind === 'queued') return attempt > 0 || inputs !== undefined ? 'working' : 'waiting'
  return state.kind === 'running' || state.kind === 'deferred' ? 'working' : undefined
}

/** Returns when the message came into its state. */
export function changedAt({ state, createdAt }: Message): Instant {
  switch (state.kind) {
    case 'queued':
      return createdAt
    case 'running':
    case 'deferred':
      return state.startedAt
    case 'input_required':
      return state.askedAt
    case 'responded':
      return state.respondedAt
    case 'failed':
      return state.failedAt
    case 'cancelled':
      return state.cancelledAt
  }
}

/** True if nothing happens to the message without a person. */
export const isSettled = (state: MessageState): boolean =>
  isFinal(state) || state.kind === 'input_required'

export const isRetryable = ({ kind }: MessageState): boolean =>
  kind === 'failed' || kind === 'cancelled'

/** The parts of a send that decide whether its key can return the key's earlier message. */
type KeyUse = Pick<Message, 'sessionId' | 'fingerprint'>

/**
 * True if a send can return the earlier message of its key. Another session can be another
 * person's, so its message is refused with either setting.
 */
export const canReturn = (
  earlier: KeyUse,
  send: KeyUse,
  onKeyMismatch: 'reuse' | 'reject',
): boolean =>
  earlier.sessionId === send.sessionId &&
  (onKeyMismatch === 'reuse' || earlier.fingerprint === send.fingerprint)

/**
 * Returns the number of the attempt that a claim starts. A message without attempts left keeps its
 * number: the claim starts no run and only ends the message.
 */
export const claimedAttempt = (attempt: number, maxAttempts: number): number =>
  isExhausted(attempt, maxAttempts) ? attempt : attempt + 1

/** True if a message with this number of started runs gets no other run. */
export const isExhausted = (attempt: number, maxAttempts: number): boolean => attempt >= maxAttempts

/**
 * Returns how many runs a message can start. A run that ended with a question does not count
 * against the agent's `maxAttempts`.
 */
export const allowedAttempts = (
  maxAttempts: number,
  { inputs = [] }: Pick<Message, 'inputs'>,
): number => maxAttempts + inputs.length

const CANCELLED: RunError = { code: 'CANCELLED', message: 'the message was cancelled' }

/** Returns the reason why a message ended without an answer. */
export function errorOf(state: MessageState): RunError | undefined {
  if (state.kind === 'failed') return state.error
  return state.kind === 'cancelled' ? CANCELLED : undefined
}

/** Returns the status on the wire. */
export const statusOf = (state: MessageState): 'responded' | 'pending' =>
  state.kind === 'responded' ? 'responded' : 'pending'

/**
 * `backoffMs[n]` is the pause after failed run n+1. Its last entry repeats. Jitter lengthens it by
 * up to that share.
 */
export type DispatchPolicy = {
  readonly backoffMs: readonly number[]
  readonly jitter: number
  /** The deadline of one run. */
  readonly runTimeoutMs: number
  /** The deadline of a deferred run's callback. */
  readonly deferredTimeoutMs: number
}

export const defaultDispatchPolicy: DispatchPolicy = {
  backoffMs: [1_000, 5_000, 30_000],
  jitter: 0.2,
  runTimeoutMs: 10 * 60_000,
  deferredTimeoutMs: 60 * 60_000,
}

/** An agent can delay a session by this much at most. */
const MAX_RETRY_IN_MS = 60 * 60_000

/**
 * Decides the state after a run. An answer leads to responded with `message.responded`. A
 * retryable failure with attempts left leads to queued, without an event. Any other failure leads
 * to failed with `agent.error` and `message.failed`.
 */
export function decideAfterRun(
  message: RunningMessage,
  run: FinishedRun,
  policy: DispatchPolicy & { readonly maxAttempts: number },
  now: Instant,
  random: number,
): { state: AfterRun; events: readonly EventPayload[] } {
  if (run.kind === 'answered') return responded(message, run, now)
  if (run.retryable && message.attempt < allowedAttempts(policy.maxAttempts, message)) {
    const failures = message.attempt - (message.inputs?.length ?? 0)
    const delay = delayOf(failures, run, policy) * (1 + policy.jitter * random)
    return { state: { kind: 'queued', notBefore: now + Math.round(delay) }, events: [] }
  }
  return decideFailure(message, run.error, now)
}

/** Decides the end of a message without an answer. */
export const decideFailure = (
  message: Message,
  error: RunError,
  now: Instant,
): {
  state: Extract<MessageState, { kind: 'failed' }>
  events: readonly EventPayload[]
} => ({
  state: { kind: 'failed', error, failedAt: now },
  events: [
    endedWithout(message, error),
    { event: 'message.failed', data: { ...factsOf(message), error, failedAt: toIso(now) } },
  ],
})

/** The agent's own delay only lengthens the backoff. */
function delayOf(
  attempt: number,
  { retryInMs = 0 }: FailedRun,
  { backoffMs }: DispatchPolicy,
): number {
  const backoff = backoffMs[Math.min(attempt, backoffMs.length) - 1] ?? 0
  return retryInMs > backoff ? Math.min(retryInMs, MAX_RETRY_IN_MS) : backoff
}

/** Decides a cancellation. Its events tell receivers that the message gets no answer. */
export const decideCancellation = (
  message: Message,
  now: Instant,
): { state: CancelledState; events: readonly EventPayload[] } => ({
  state: { kind: 'cancelled', cancelledAt: now },
  events: [
    endedWithout(message, CANCELLED),
    { event: 'message.cancelled', data: { ...factsOf(message), cancelledAt: toIso(now) } },
  ],
})

const endedWithout = (message: Message, error: RunError): EventPayload => ({
  event: 'agent.error',
  data: { ...factsOf(message), error },
})

/** The fields that the events of a message without an answer have in common. */
export const factsOf = ({
  id: messageId,
  agentId,
  sessionId,
  executionPrincipal,
  metadata,
}: Message) => ({
  messageId,
  agentId,
  sessionId,
  executionPrincipal,
  ...echoOf(metadata),
})

/** Writes all fields in one literal, because V8 takes 1 µs to add fields behind a spread object. */
function responded(
  message: RunningMessage,
  { response, usage }: Extract<FinishedRun, { kind: 'answered' }>,
  now: Instant,
): { state: AfterRun; events: readonly EventPayload[] } {
  const { id: messageId, agentId, sessionId, executionPrincipal, metadata } = message
  const responseTimeMs = Math.max(0, now - message.state.startedAt)
  const data = {
    messageId,
    agentId,
    sessionId,
    executionPrincipal,
    ...echoOf(metadata),
    response,
    responseTimeMs,
    usage,
  }
  const answered = { kind: 'responded', response, respondedAt: now, responseTimeMs } as const
  return {
    state: usage ? { ...answered, usage } : answered,
    events: [{ event: 'message.responded', data }],
  }
}
