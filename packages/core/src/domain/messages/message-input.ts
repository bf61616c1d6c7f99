import { toIso, type Instant } from '../values/instant.js'
import {
  canonicalJson,
  isJsonObject,
  jsonProblem,
  type Json,
  type JsonObject,
} from '../values/json.js'
import type { ExecutionPrincipal } from '../access/principal.js'
import { ANSWER_LIMITS, schemaProblem, sizeProblem, valueProblem } from './answer-schema.js'

/** A question of an agent to a person. */
export type Question = {
  readonly question: string
  /** The texts that the person chooses from. */
  readonly options?: readonly string[]
  /** JSON Schema of the answer. Without a schema and options, the answer is a text. */
  readonly schema?: JsonObject
  /** The only principal that can answer. Default: every caller of the project. */
  readonly answerBy?: 'execution_principal'
  /**
   * The part of the conversation that the page of the one-time link shows, oldest first. No event
   * and no answer of the API has it. The service deletes it with the question's answer.
   */
  readonly context?: readonly ContextMessage[]
  /** At the deadline the message fails (default), or this answer counts. */
  readonly onExpiry?: 'fail' | { readonly answer: Json }
}

/** A message with its answer. Turns of the history have these fields too. */
export type ContextMessage = { readonly message: string; readonly response?: string | undefined }

/** A run ends with a question. The next run gets the answer. */
export type AskingRun = Question & {
  readonly kind: 'input_required'
  /** The time to the deadline. Default: 7 days. */
  readonly expiresInMs?: number
}

/** A question of a message, with its answer. */
export type MessageInput = Question & {
  readonly id: string
  readonly askedAt: Instant
  /** SHA-256 of the token of the one-time link. */
  readonly linkDigest?: string
  readonly answer?: InputAnswer
}

/** `executionPrincipal` is absent if the deadline gave the answer. */
export type InputAnswer = {
  readonly value: Json
  readonly executionPrincipal?: ExecutionPrincipal
  readonly answeredAt: Instant
}

/** A question as receivers and agents see it. */
export type InputFacts = Pick<MessageInput, 'id' | 'question' | 'options' | 'schema' | 'answerBy'>

/** An answered question, for the agent's next run. */
export type AnsweredInput = InputFacts & Pick<InputAnswer, 'value' | 'executionPrincipal'>

/** The longest that a question waits, and how long it waits if the agent does not say. */
const MAX_EXPIRES_IN_MS = 365 * 86_400_000
export const DEFAULT_EXPIRES_IN_MS = 7 * 86_400_000
/** A message asks at most this many questions. */
export const MAX_QUESTIONS = 100
const MAX_QUESTION_LENGTH = 8 * 1024
const MAX_OPTIONS = 50
const MAX_OPTION_LENGTH = 256
const MAX_VALUE_LENGTH = 16 * 1024
const MAX_VALUE_DEPTH = 16
const MAX_CONTEXT_MESSAGES = 20
const MAX_CONTEXT_BYTES = 64 * 1024
const MAX_REMINDER_MS = 86_400_000

/** The reminder comes a day before the deadline, or when three quarters of the time are over. */
export const reminderAt = (askedAt: Instant, deadlineAt: Instant): Instant =>
  deadlineAt - Math.min(MAX_REMINDER_MS, Math.round((deadlineAt - askedAt) / 4))

export const inputFacts = ({
  id,
  question,
  options,
  schema,
  answerBy,
}: MessageInput): InputFacts => ({
  id,
  question,
  ...(options && { options }),
  ...(schema && { schema }),
  ...(answerBy && { answerBy }),
})

/** Returns the question of an agent, or the reason why the question is not valid. */
export function parseQuestion(given: unknown, limits = ANSWER_LIMITS): AskingRun | string {
  if (!isJsonObject(given)) return 'is not an object'
  const { question, options, schema, answerBy, context, expiresInMs, onExpiry } = given
  const shown = contextOf(context)
  const problem =
    questionProblem(question) ??
    optionsProblem(options) ??
    (schema === undefined ? undefined : schemaProblem(schema, limits)) ??
    expiryProblem(expiresInMs) ??
    (typeof shown === 'string' ? shown : undefined) ??
    (answerBy === undefined || answerBy === 'execution_principal'
      ? undefined
      : 'has an answerBy that is not execution_principal')
  if (problem !== undefined) return problem
  const asked: AskingRun = {
    kind: 'input_required',
    question: question as string,
    ...(options !== undefined && { options: options as string[] }),
    ...(schema !== undefined && { schema: schema as JsonObject }),
    ...(answerBy !== undefined && { answerBy: 'execution_principal' as const }),
    ...(typeof shown === 'object' && shown.length > 0 && { context: shown }),
    ...(expiresInMs !== undefined && { expiresInMs: expiresInMs as number }),
  }
  if (onExpiry === undefined || onExpiry === 'fail') return asked
  const isAnswer = isJsonObject(onExpiry) && onExpiry['answer'] !== undefined
  if (!isAnswer) return 'has an onExpiry that is neither "fail" nor an object with an answer'
  const answer = onExpiry['answer'] as Json
  const wrong = answerProblem(asked, answer, limits)
  return wrong === undefined
    ? { ...asked, onExpiry: { answer } }
    : `has an onExpiry answer that ${wrong}`
}

function questionProblem(question: unknown): string | undefined {
  if (typeof question !== 'string' || question === '') return 'has no text'
  if (question.length > MAX_QUESTION_LENGTH)
    return `has more than ${MAX_QUESTION_LENGTH} characters`
  return jsonProblem(question, 1)
}

function optionsProblem(options: unknown): string | undefined {
  if (options === undefined) return undefined
  if (!Array.isArray(options) || options.length === 0 || options.length > MAX_OPTIONS)
    return `has options that are not a list of 1 to ${MAX_OPTIONS} texts`
  const isText = (option: unknown): boolean =>
    typeof option === 'string' &&
    option !== '' &&
    option.length <= MAX_OPTION_LENGTH &&
    jsonProblem(option, 1) === undefined
  if (!options.every(isText))
    return `has an option that is not a text of 1 to ${MAX_OPTION_LENGTH} characters`
  return new Set(options).size === options.length ? undefined : 'has the same option twice'
}

function expiryProblem(ms: unknown): string | undefined {
  if (ms === undefined) return undefined
  const fits = typeof ms === 'number' && ms >= 1 && ms <= MAX_EXPIRES_IN_MS
  return fits ? undefined : `has an expiresInMs that is not between 1 and ${MAX_EXPIRES_IN_MS}`
}

/** Returns only the texts of the context, or the reason why the context is not valid. */
function contextOf(context: unknown): readonly ContextMessage[] | string | undefined {
  if (context === undefined) return undefined
  if (!Array.isArray(context) || context.length > MAX_CONTEXT_MESSAGES)
    return `has a context that is not a list of at most ${MAX_CONTEXT_MESSAGES} messages`
  const isText = (text: unknown): boolean =>
    typeof text === 'string' && jsonProblem(text, 1) === undefined
  const isMessage = (one: unknown): one is ContextMessage =>
    isJsonObject(one) &&
    isText(one['message']) &&
    (one['response'] === undefined || isText(one['response']))
  if (!context.every(isMessage))
    return 'has a context whose entries are not messages with a text and a response'
  const messages = context.map(({ message, response }) => ({
    message,
    ...(response !== undefined && { response }),
  }))
  return new TextEncoder().encode(JSON.stringify(messages)).length > MAX_CONTEXT_BYTES
    ? `has a context of more than ${MAX_CONTEXT_BYTES} bytes as JSON`
    : messages
}

/** Returns why the question does not take this answer, or undefined. */
export function answerProblem(
  { options, schema }: Pick<Question, 'options' | 'schema'>,
  value: unknown,
  limits = ANSWER_LIMITS,
): string | undefined {
  if (value === undefined) return 'is required'
  const problem = sizeProblem(value, limits) ?? jsonProblem(value, MAX_VALUE_DEPTH)
  if (problem !== undefined) return problem
  if (JSON.stringify(value).length > MAX_VALUE_LENGTH)
    return `must have at most ${MAX_VALUE_LENGTH} characters as JSON`
  if (options && !options.includes(value as string))
    return `must be one of ${options.map((option) => JSON.stringify(option)).join(', ')}`
  if (schema) return valueProblem(schema, value as Json, limits)
  return options || (typeof value === 'string' && value !== '') ? undefined : 'must be a text'
}

/** True if question, options and schema are the same. */
export const isSameQuestion = (a: Question, b: Question): boolean => identityOf(a) === identityOf(b)

const identityOf = ({ question, options, schema }: Question): string =>
  canonicalJson({ question, options: options ? [...options] : null, schema: schema ?? null })

/** The fields of a question in events. */
export const inputEventFacts = (input: MessageInput, deadlineAt: Instant) => ({
  ...inputFacts(input),
  askedAt: toIso(input.askedAt),
  expiresAt: toIso(deadlineAt),
})
