import type { ExecutionPrincipal } from '../access/principal.js'
import type { RunUsage } from '../operations/usage.js'
import { toIso } from '../values/instant.js'
import type { JsonObject } from '../values/json.js'
import { openInput } from './input-decisions.js'
import type { InputPart } from './input-part.js'
import {
  inputFacts,
  type InputAnswer,
  type InputFacts,
  type MessageInput,
} from './message-input.js'
import { errorOf, statusOf, type Message, type MessageStateKind } from './message.js'
import type { AnswerParts, Part } from './part.js'
import type { RunError } from './run.js'

/** The result of a send: the answer if it came in time. */
export type SentMessage =
  | { readonly messageId: string; readonly status: 'responded'; readonly response: string }
  | { readonly messageId: string; readonly status: 'pending'; readonly response?: never }

/** A message as callers of the API and of the host see it. Times are ISO 8601 in UTC. */
export type ShownMessage = Outcome & {
  readonly messageId: string
  readonly agentId: string
  readonly sessionId: string
  /** `pending` covers every state except `responded`. */
  readonly status: 'pending' | 'responded'
  readonly state: MessageStateKind
  readonly message: string
  /** What the sender gave beside the text. */
  readonly inputParts?: readonly InputPart[] | undefined
  /** JSON Schema of the answer, which is JSON then. */
  readonly responseSchema?: JsonObject | undefined
  readonly metadata?: JsonObject | undefined
  readonly executionPrincipal: ExecutionPrincipal
  /** The open question. Present if the state is `input_required`. */
  readonly input?: OpenInput | undefined
  /** The questions that the message has asked, oldest first. */
  readonly inputs?: readonly ShownInput[] | undefined
  /** The number of runs that have started. */
  readonly attempt: number
  readonly createdAt: string
}

/** The parts of an answer as callers see them. */
export type ShownParts = {
  /**
   * The parts of an answer that is more than text. The joined text parts are the response. Lists
   * leave them out.
   */
  readonly parts?: readonly Part[] | undefined
  /** Present if the agent emitted more parts than a message can have. */
  readonly partsTruncated?: true | undefined
}

type Outcome = ShownParts & {
  /** Present with the time fields if the state is `responded`. */
  readonly response?: string | undefined
  /** The duration of the run that answered. */
  readonly responseTimeMs?: number | undefined
  readonly respondedAt?: string | undefined
  readonly usage?: RunUsage | undefined
  /** Present if the state is `failed` or `cancelled`. */
  readonly error?: RunError | undefined
}

/** A question of an agent, with its answer. */
export type ShownInput = InputFacts & {
  readonly askedAt: string
  readonly answer?: Omit<InputAnswer, 'answeredAt'> & { readonly answeredAt: string }
}
/** A question that waits for an answer until `expiresAt`. */
export type OpenInput = InputFacts & { readonly askedAt: string; readonly expiresAt: string }

/** Returns the result of a send, with exactly these fields. */
export const shownSend = ({ id: messageId, state }: Message): SentMessage =>
  state.kind === 'responded'
    ? { messageId, status: 'responded', response: state.response }
    : { messageId, status: 'pending' }

export const shownMessage = (message: Message): ShownMessage => ({
  messageId: message.id,
  agentId: message.agentId,
  sessionId: message.sessionId,
  status: statusOf(message.state),
  state: message.state.kind,
  message: message.message,
  inputParts: message.inputParts,
  responseSchema: message.responseSchema,
  metadata: message.metadata,
  executionPrincipal: message.executionPrincipal,
  ...outcomeOf(message),
  ...(message.parts && shownParts(message.parts)),
  ...openInputOf(message),
  inputs: message.inputs?.map(shownInput),
  attempt: message.attempt,
  createdAt: toIso(message.createdAt),
})

export const shownParts = ({ parts, isTruncated }: AnswerParts): ShownParts => ({
  parts,
  ...(isTruncated && { partsTruncated: true }),
})

function outcomeOf({ state }: Message): Outcome {
  const error = errorOf(state)
  if (error) return { error }
  if (state.kind !== 'responded') return {}
  return {
    response: state.response,
    responseTimeMs: state.responseTimeMs,
    respondedAt: toIso(state.respondedAt),
    usage: state.usage,
  }
}

function openInputOf(message: Message): Pick<ShownMessage, 'input'> {
  const input = openInput(message)
  if (!input || message.state.kind !== 'input_required') return {}
  const expiresAt = toIso(message.state.deadlineAt)
  return { input: { ...inputFacts(input), askedAt: toIso(input.askedAt), expiresAt } }
}

const shownInput = (input: MessageInput): ShownInput => ({
  ...inputFacts(input),
  askedAt: toIso(input.askedAt),
  ...(input.answer && {
    answer: { ...input.answer, answeredAt: toIso(input.answer.answeredAt) },
  }),
})
