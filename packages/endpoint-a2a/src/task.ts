import { Role, TaskState, type Artifact, type Message as A2aMessage } from '@a2a-js/sdk'
import type { Part, Task, TaskStatus } from '@a2a-js/sdk'
import type { Json, Message } from '@org/agent-messaging-core'
import { errorOf, changedAt, progressOf } from '@org/agent-messaging-core/host'
import {
  openInput,
  toIso,
  type MessageInput,
  type MessageState,
} from '@org/agent-messaging-core/storage'
import { AnswerSteps } from '@org/agent-messaging-http-kit'
import { artifactParts, partOf, textPart } from './artifact-parts.js'

/** The field of a message's metadata that keeps the id which its sender gave it. */
export const MESSAGE_ID = 'a2aMessageId'
const ANSWER = 'answer'

export type TaskView = {
  readonly historyLength?: number | undefined
  /** Default: true. */
  readonly includeArtifacts?: boolean | undefined
  /** What a working agent has emitted so far. */
  readonly partial?: readonly Part[] | undefined
}

/** Returns the task of a message: its context is the session, its artifact the answer. */
export function taskOf(message: Message, view: TaskView = {}): Task {
  const { id, sessionId: contextId, state } = message
  const { historyLength, includeArtifacts = true, partial = [] } = view
  const answer =
    state.kind === 'responded'
      ? [answerArtifact(artifactParts(new AnswerSteps().finish(message)))]
      : partialArtifacts(partial)
  return {
    id,
    contextId,
    status: statusOf(message),
    artifacts: includeArtifacts ? answer : [],
    history: newest(historyOf(message), historyLength),
    metadata: undefined,
  }
}

export function statusOf(message: Message): TaskStatus {
  const error = errorOf(message.state)
  const question = openInput(message)
  const failure = error && {
    ...placeOf(message),
    messageId: `${message.id}-error`,
    role: Role.ROLE_AGENT,
    parts: [textPart(`${error.code}: ${error.message}`)],
    metadata: undefined,
  }
  return {
    state: taskStateOf(message),
    message: question ? questionOf(message, question) : failure,
    timestamp: toIso(changedAt(message)),
  }
}

/** Between two attempts, and after an answer, the task stays at work. */
const taskStateOf = (message: Message): TaskState =>
  progressOf(message) === 'working' ? TaskState.TASK_STATE_WORKING : STATES[message.state.kind]

const STATES: { readonly [K in MessageState['kind']]: TaskState } = {
  queued: TaskState.TASK_STATE_SUBMITTED,
  running: TaskState.TASK_STATE_WORKING,
  deferred: TaskState.TASK_STATE_WORKING,
  input_required: TaskState.TASK_STATE_INPUT_REQUIRED,
  responded: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  cancelled: TaskState.TASK_STATE_CANCELED,
}

/** Without parts, the artifact has an empty text. */
export const answerArtifact = (parts: readonly Part[]): Artifact => ({
  artifactId: ANSWER,
  name: ANSWER,
  description: '',
  parts: parts.length > 0 ? [...parts] : [textPart('')],
  metadata: undefined,
  extensions: [],
})

const partialArtifacts = (parts: readonly Part[]): Artifact[] =>
  parts.length === 0 ? [] : [{ ...answerArtifact(parts), metadata: { partial: true } }]

const newest = (history: A2aMessage[], length: number | undefined): A2aMessage[] =>
  length === undefined ? history : history.slice(Math.max(0, history.length - length))

/** Returns the message and its answered questions. An open question is in the status. */
const historyOf = (message: Message): A2aMessage[] => [
  sentBy(message),
  ...(message.inputs ?? []).flatMap((input) =>
    input.answer
      ? [questionOf(message, input), answerOf(message, input.id, input.answer.value)]
      : [],
  ),
]

/** The id of the agent's message is the id of the question. */
const questionOf = (
  message: Message,
  { id, question, options, schema }: MessageInput,
): A2aMessage => ({
  ...placeOf(message),
  messageId: id,
  role: Role.ROLE_AGENT,
  parts: [textPart(question)],
  metadata:
    options || schema ? { ...(options && { options }), ...(schema && { schema }) } : undefined,
})

const answerOf = (message: Message, inputId: string, value: Json): A2aMessage => ({
  ...placeOf(message),
  messageId: `${inputId}-answer`,
  role: Role.ROLE_USER,
  parts: [textPart(typeof value === 'string' ? value : JSON.stringify(value))],
  metadata: undefined,
})

function sentBy(message: Message): A2aMessage {
  const { [MESSAGE_ID]: messageId, ...metadata } = message.metadata ?? {}
  return {
    ...placeOf(message),
    messageId: typeof messageId === 'string' ? messageId : message.id,
    role: Role.ROLE_USER,
    parts: [textPart(message.message), ...(message.inputParts ?? []).map(partOf)],
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
  }
}

const placeOf = ({ id: taskId, sessionId: contextId }: Message) => ({
  taskId,
  contextId,
  extensions: [],
  referenceTaskIds: [],
})
