import type { EventPayload } from '../webhooks/event.js'
import { toIso, type Instant } from '../values/instant.js'
import { canonicalJson, type Json } from '../values/json.js'
import {
  decideFailure,
  factsOf,
  type AskingState,
  type Message,
  type MessageState,
  type RunningMessage,
} from './message.js'
import {
  answerProblem,
  DEFAULT_EXPIRES_IN_MS,
  inputEventFacts,
  reminderAt,
  type AskingRun,
  type InputAnswer,
  type MessageInput,
} from './message-input.js'
import { isSamePrincipal, type ExecutionPrincipal } from '../access/principal.js'
import type { RunError } from './run.js'

/** A message that waits for the answer to its last question. */
export type AskingMessage = Message & { readonly state: AskingState }

export const isAsking = (message: Message): message is AskingMessage =>
  message.state.kind === 'input_required'

/** Returns the deadline of the open question, or 0. */
export const deadlineOf = ({ state }: Message): Instant =>
  state.kind === 'input_required' ? state.deadlineAt : 0

/** The question that waits for an answer. */
export const openInput = (message: Message): MessageInput | undefined =>
  isAsking(message) ? message.inputs?.at(-1) : undefined

type Decided<S> = {
  readonly state: S
  readonly inputs: readonly MessageInput[]
  readonly events: readonly EventPayload[]
}

/** `inputUrl` is the one-time link, whose token has the digest `linkDigest`. */
type NewInput = {
  readonly id: string
  readonly link?: { readonly inputUrl: string; readonly linkDigest: string } | undefined
}

/** Decides the state of a message whose run has asked a question. */
export function decideQuestion(
  message: RunningMessage,
  { kind: _, expiresInMs = DEFAULT_EXPIRES_IN_MS, ...question }: AskingRun,
  { id, link }: NewInput,
  now: Instant,
): Decided<AskingState> {
  const deadlineAt = now + Math.max(1, Math.trunc(expiresInMs))
  const linkDigest = link?.linkDigest
  const input = { id, ...question, askedAt: now, ...(linkDigest !== undefined && { linkDigest }) }
  const data = {
    ...factsOf(message),
    input: inputEventFacts(input, deadlineAt),
    ...(link && { inputUrl: link.inputUrl }),
  }
  return {
    state: {
      kind: 'input_required',
      askedAt: now,
      deadlineAt,
      dueAt: reminderAt(now, deadlineAt),
    },
    inputs: [...(message.inputs ?? []), input],
    events: [{ event: 'message.input_required', data }],
  }
}

/**
 * `repeated`: the question has this answer. `closed`: the question has another answer, or the
 * message no longer waits. `restricted`: only the message's principal can answer.
 */
export type AnswerRefusal =
  | { readonly kind: 'repeated' | 'not_found' | 'closed' | 'restricted' }
  | { readonly kind: 'invalid'; readonly problem: string }

type GivenAnswer = {
  readonly inputId: string
  readonly value: unknown
  readonly executionPrincipal: ExecutionPrincipal
}

/** Decides an answer. The message is then queued, and its next run gets the answer. */
export function decideAnswer(
  message: Message,
  { inputId, value, executionPrincipal }: GivenAnswer,
  now: Instant,
): Decided<Extract<MessageState, { kind: 'queued' }>> | AnswerRefusal {
  const { inputs = [] } = message
  const input = inputs.find(({ id }) => id === inputId)
  if (!input) return { kind: 'not_found' }
  const isOther =
    input.answerBy === 'execution_principal' &&
    !isSamePrincipal(executionPrincipal, message.executionPrincipal)
  if (isOther) return { kind: 'restricted' }
  if (input.answer) return { kind: isSameAnswer(input.answer.value, value) ? 'repeated' : 'closed' }
  if (!isAsking(message) || now >= message.state.deadlineAt) return { kind: 'closed' }
  const problem = answerProblem(input, value)
  if (problem !== undefined) return { kind: 'invalid', problem }
  const answer = { value: value as Json, executionPrincipal, answeredAt: now }
  return answered(message, inputs, answer, now)
}

const isSameAnswer = (stored: Json, value: unknown): boolean =>
  answerProblem({ schema: {} }, value) === undefined &&
  canonicalJson(stored) === canonicalJson(value as Json)

/** Decides what happens to a question whose due time has come. */
export function decideDueInput(
  message: AskingMessage,
  now: Instant,
): Decided<Extract<MessageState, { kind: 'input_required' | 'queued' | 'failed' }>> {
  const { state, inputs = [] } = message
  const input = inputs.at(-1)
  if (!input) throw new Error(`message ${message.id} waits without a question`)
  if (now < state.deadlineAt) {
    const data = { ...factsOf(message), input: inputEventFacts(input, state.deadlineAt) }
    return {
      state: { ...state, dueAt: state.deadlineAt },
      inputs,
      events: [{ event: 'message.input_reminder', data }],
    }
  }
  const { onExpiry = 'fail' } = input
  return onExpiry === 'fail'
    ? { inputs, ...decideFailure(message, EXPIRED, now) }
    : answered(message, inputs, { value: onExpiry.answer, answeredAt: now }, now)
}

/** Decides the end of a message whose question a caller has withdrawn. */
export const decideWithdrawal = (
  message: AskingMessage,
  now: Instant,
): Decided<Extract<MessageState, { kind: 'failed' }>> => ({
  inputs: message.inputs ?? [],
  ...decideFailure(message, WITHDRAWN, now),
})

const EXPIRED: RunError = { code: 'INPUT_EXPIRED', message: 'the question got no answer in time' }
const WITHDRAWN: RunError = { code: 'INPUT_WITHDRAWN', message: 'the question was withdrawn' }

function answered(
  message: AskingMessage,
  inputs: readonly MessageInput[],
  answer: InputAnswer,
  now: Instant,
): Decided<Extract<MessageState, { kind: 'queued' }>> {
  const { context: _, ...asked } = inputs.at(-1) as MessageInput
  const input = { ...asked, answer }
  const data = {
    ...factsOf(message),
    input: inputEventFacts(input, message.state.deadlineAt),
    answer: { ...answer, answeredAt: toIso(answer.answeredAt) },
  }
  return {
    state: { kind: 'queued', notBefore: now },
    inputs: [...inputs.slice(0, -1), input],
    events: [{ event: 'message.input_received', data }],
  }
}
