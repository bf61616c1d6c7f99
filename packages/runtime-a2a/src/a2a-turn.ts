import type { Message, Part, SendMessageRequest, Task } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import {
  beginningOf,
  failedRun,
  type EndedRun,
  type FinishedRun,
  type InputPart,
  type RunRequest,
} from '@org/agent-messaging-core/runtime'
import {
  A2AError,
  RequestMalformedError,
  Role,
  TaskNotFoundError,
  TaskState,
  UnsupportedOperationError,
} from './sdk.js'
import { parseSessionState, type SessionState } from './session-state.js'
import { questionOf, waitForTask, type PollDeps } from './task-poll.js'
import {
  answerOf,
  answerPartsOf,
  lastMessage,
  otherPartsOf,
  partEventOf,
  textOf,
} from './task-text.js'

type TurnDeps = PollDeps & {
  /** Called with a description of the parts that the service does not keep. */
  readonly onLeftOut: (parts: string) => void
}

/**
 * Sends the message, or finds the task of an earlier attempt, and waits for the task. Stores the
 * task's id before the first poll, so that a restart does not send the message again. Failures
 * contain the agent's unfiltered text.
 */
export async function runTurn(
  d: TurnDeps,
  run: RunRequest,
  signal: AbortSignal,
): Promise<EndedRun> {
  try {
    const started =
      (await answerTask(d.client, run, signal)) ??
      (await resume(d.client, run, signal)) ??
      (await start(d.client, run, signal))
    if ('messageId' in started) return await reply(d, run, started)
    const { contextId, id: taskId } = started
    const question = answeredQuestion(run, taskId)
    const { messageId } = run
    await remember(run, { contextId, taskId, messageId, ...(question && { question }) })
    const task = await waitForTask(d, started, question, signal)
    return await outcomeOf(d, run, task)
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error), isRetryable(error))
  }
}

/**
 * Returns the task of an earlier attempt. The first attempt starts a new task, because a retry by
 * the caller asks for another result. So does an attempt after a timeout, which cancels the task.
 */
async function resume(
  client: Client,
  run: RunRequest,
  signal: AbortSignal,
): Promise<Task | undefined> {
  const state = parseSessionState(run.sessionState)
  if (run.attempt === 1 || state?.taskId === undefined || state.messageId !== run.messageId)
    return undefined
  try {
    const task = await client.getTask({ tenant: '', id: state.taskId }, { signal })
    return task.status?.state === TaskState.TASK_STATE_CANCELED ? undefined : task
  } catch (error) {
    if (error instanceof TaskNotFoundError) return undefined
    throw error
  }
}

/** Returns the state of the session if it is about this message. */
function stateOf({ sessionState, messageId }: RunRequest): SessionState | undefined {
  const state = parseSessionState(sessionState)
  return state?.messageId === messageId ? state : undefined
}

/**
 * Sends the answer of a person to the task that asks. The id of the message is the same for each
 * attempt. Returns undefined without an answer, and if the agent has dropped the task.
 */
async function answerTask(
  client: Client,
  run: RunRequest,
  signal: AbortSignal,
): Promise<Message | Task | undefined> {
  const { contextId = '', taskId, asked } = stateOf(run) ?? {}
  const answer = asked === undefined ? undefined : run.inputs?.[asked]
  if (taskId === undefined || asked === undefined || !answer) return undefined
  const { value } = answer
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const messageId = `${run.messageId}.${asked + 1}`
  try {
    return await client.sendMessage(
      requestOf(run, { contextId, taskId, messageId, text }),
      optionsOf(run, signal),
    )
  } catch (error) {
    if (!isTaskGone(error)) throw error
    return undefined
  }
}

/** Starts a new task in the context of the session. */
function start(client: Client, run: RunRequest, signal: AbortSignal): Promise<Message | Task> {
  const { contextId = '' } = parseSessionState(run.sessionState) ?? {}
  const { messageId, message: text } = run
  const parts = run.parts?.map(partOf)
  const place = { contextId, taskId: '', messageId, text, ...(parts && { parts }) }
  return client.sendMessage(requestOf(run, place), optionsOf(run, signal))
}

/** Both transports send the trace as headers. */
const optionsOf = (run: RunRequest, signal: AbortSignal) => ({
  signal,
  ...(run.trace && { serviceParameters: { ...run.trace } }),
})

const isTaskGone = (error: unknown): boolean =>
  error instanceof TaskNotFoundError ||
  error instanceof UnsupportedOperationError ||
  error instanceof RequestMalformedError

type Sent = {
  readonly contextId: string
  readonly taskId: string
  readonly messageId: string
  readonly text: string
  /** Beside the text. */
  readonly parts?: readonly Part[]
}

function requestOf(
  run: RunRequest,
  { contextId, taskId, messageId, text, parts = [] }: Sent,
): SendMessageRequest {
  const content = { $case: 'text', value: text } as const
  const message: Message = {
    messageId,
    contextId,
    taskId,
    role: Role.ROLE_USER,
    parts: [{ content, metadata: undefined, filename: '', mediaType: 'text/plain' }, ...parts],
    metadata: {
      sessionId: run.sessionId,
      executionPrincipal: run.executionPrincipal,
      ...(run.metadata && { metadata: run.metadata }),
    },
    extensions: [],
    referenceTaskIds: [],
  }
  return { tenant: '', message, configuration: undefined, metadata: undefined }
}

function partOf(part: InputPart): Part {
  if (part.type === 'file') {
    const { url, mediaType, filename = '' } = part
    return { content: { $case: 'url', value: url }, metadata: undefined, filename, mediaType }
  }
  const { name, id, data } = part
  const content = { $case: 'data', value: data } as const
  const metadata = { name, ...(id !== undefined && { id }) }
  return { content, metadata, filename: '', mediaType: 'application/json' }
}

/** Returns the question that the agent has the answer to, if the agent identified it. */
function answeredQuestion(run: RunRequest, taskId: string): string | undefined {
  const state = stateOf(run)
  const isAnswered = state?.asked === undefined || run.inputs?.[state.asked] !== undefined
  return isAnswered && state?.taskId === taskId ? state.question || undefined : undefined
}

const remember = (run: RunRequest, state: SessionState): Promise<void> =>
  run.remember(JSON.stringify(state))

async function reply(d: TurnDeps, run: RunRequest, message: Message): Promise<FinishedRun> {
  if (message.contextId !== '') await remember(run, { contextId: message.contextId })
  return answered(d, run, textOf(message), message.parts)
}

/** Turns a question of the agent into one to a person. */
async function ask(d: TurnDeps, run: RunRequest, task: Task): Promise<EndedRun> {
  const { contextId, id: taskId } = task
  const { messageId, inputs = [] } = run
  const lost = lostParts(d, answerPartsOf(task), lastMessage(task) !== '')
  if (lost) return lost
  const asked = inputs.length
  await remember(run, { contextId, taskId, messageId, question: questionOf(task), asked })
  const question =
    beginningOf(lastMessage(task), MAX_QUESTION_LENGTH) || 'The agent asks for input.'
  return task.status?.state === TaskState.TASK_STATE_AUTH_REQUIRED
    ? { kind: 'input_required', question: `${question}\n\n${NO_CREDENTIALS}`, options: ['done'] }
    : { kind: 'input_required', question }
}

const MAX_QUESTION_LENGTH = 8_000
const NO_CREDENTIALS = 'Give credentials to the agent itself, never with this answer.'

async function outcomeOf(d: TurnDeps, run: RunRequest, task: Task): Promise<EndedRun> {
  switch (task.status?.state) {
    case TaskState.TASK_STATE_COMPLETED:
      return answered(d, run, answerOf(task), answerPartsOf(task))
    case TaskState.TASK_STATE_INPUT_REQUIRED:
    case TaskState.TASK_STATE_AUTH_REQUIRED:
      return ask(d, run, task)
    case TaskState.TASK_STATE_CANCELED:
      return failed('the agent cancelled the task')
    default:
      return failed(lastMessage(task) || 'the agent failed the task')
  }
}

/** Emits the data and the files of the answer after its text. */
function answered(
  d: TurnDeps,
  run: RunRequest,
  response: string,
  parts: readonly Part[],
): FinishedRun {
  const events = parts.flatMap((part) => partEventOf(part) ?? [])
  const others = parts.filter((part) => !partEventOf(part))
  const lost = lostParts(d, others, response !== '' || events.length > 0)
  if (lost) return lost
  if (events.length > 0) run.emit(response)
  for (const event of events) run.emit(event)
  return { kind: 'answered', response }
}

/** Reports parts that the service does not keep. Fails if the agent sent nothing else. */
function lostParts(d: TurnDeps, parts: readonly Part[], hasMore: boolean): FinishedRun | undefined {
  const lost = otherPartsOf(parts)
  if (lost === '') return undefined
  const message = `the agent sent no text, only ${lost}, which this service does not keep`
  if (!hasMore) return failedRun('RESPONSE_INVALID', message)
  d.onLeftOut(lost)
  return undefined
}

const failed = (message: string, retryable = false): FinishedRun =>
  failedRun('RUNTIME_ERROR', message, retryable)

/** Protocol errors and most 4xx are final. Network errors can pass, and a lost task restarts. */
const isRetryable = (error: unknown): boolean =>
  error instanceof TaskNotFoundError ||
  (!(error instanceof A2AError) &&
    !(error instanceof Error && /Status: 4(?!08|09|29)/.test(error.message)))
