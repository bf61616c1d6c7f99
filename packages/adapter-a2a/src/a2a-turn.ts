import {
  Role,
  TaskState,
  type Message,
  type Part,
  type SendMessageRequest,
  type Task,
} from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import {
  A2AError,
  RequestMalformedError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import { failedRun, type FinishedRun, type RunRequest } from '@org/agent-messaging-core/runtime'
import { parseSessionState, type SessionState } from './session-state.js'
import { questionOf, waitForTask, type PollDeps } from './task-poll.js'
import { answerOf, answerPartsOf, lastMessage, otherPartsOf, textOf } from './task-text.js'

/**
 * Sends the message, or finds the task of an earlier attempt, and waits for the task. Stores the
 * task's id before the first poll, so that a restart does not send the message again. Failures
 * contain the agent's unfiltered text.
 */
export async function runTurn(
  d: PollDeps,
  run: RunRequest,
  signal: AbortSignal,
): Promise<FinishedRun> {
  try {
    const started = (await resume(d.client, run, signal)) ?? (await send(d.client, run, signal))
    if ('messageId' in started) return await reply(run, started)
    const { contextId, id: taskId } = started
    await remember(run, { contextId, taskId, messageId: run.messageId })
    const task = await waitForTask(d, started, answeredQuestion(run, taskId), signal)
    return await outcomeOf(run, task)
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

/** Continues the task in which the agent asked a question, or starts a new one. */
async function send(client: Client, run: RunRequest, signal: AbortSignal): Promise<Message | Task> {
  const { contextId = '', taskId, question } = parseSessionState(run.sessionState) ?? {}
  // Both transports send the trace as headers.
  const options = { signal, ...(run.trace && { serviceParameters: { ...run.trace } }) }
  const start = () => client.sendMessage(requestOf(run, contextId, ''), options)
  if (question === undefined || taskId === undefined) return start()
  try {
    return await client.sendMessage(requestOf(run, contextId, taskId), options)
  } catch (error) {
    if (!isTaskGone(error)) throw error
    return start()
  }
}

const isTaskGone = (error: unknown): boolean =>
  error instanceof TaskNotFoundError ||
  error instanceof UnsupportedOperationError ||
  error instanceof RequestMalformedError

function requestOf(run: RunRequest, contextId: string, taskId: string): SendMessageRequest {
  const content = { $case: 'text', value: run.message } as const
  const message: Message = {
    messageId: run.messageId,
    contextId,
    taskId,
    role: Role.ROLE_USER,
    parts: [{ content, metadata: undefined, filename: '', mediaType: 'text/plain' }],
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

/** Returns the question that the message answers, if the agent identified it. */
function answeredQuestion(
  { sessionState, messageId }: RunRequest,
  taskId: string,
): string | undefined {
  const state = parseSessionState(sessionState)
  const isAnswer = state?.messageId !== messageId && state?.taskId === taskId
  return isAnswer ? state.question || undefined : undefined
}

const remember = (run: RunRequest, state: SessionState): Promise<void> =>
  run.remember(JSON.stringify(state))

async function reply(run: RunRequest, message: Message): Promise<FinishedRun> {
  if (message.contextId !== '') await remember(run, { contextId: message.contextId })
  return answered(textOf(message), message.parts)
}

async function outcomeOf(run: RunRequest, task: Task): Promise<FinishedRun> {
  switch (task.status?.state) {
    case TaskState.TASK_STATE_COMPLETED:
      return answered(answerOf(task), answerPartsOf(task))
    case TaskState.TASK_STATE_INPUT_REQUIRED: {
      const { contextId, id: taskId } = task
      const { messageId } = run
      await remember(run, { contextId, taskId, messageId, question: questionOf(task) })
      return answered(lastMessage(task), answerPartsOf(task))
    }
    case TaskState.TASK_STATE_AUTH_REQUIRED:
      return failed(`the agent requires credentials: ${lastMessage(task)}`)
    case TaskState.TASK_STATE_CANCELED:
      return failed('the agent cancelled the task')
    default:
      return failed(lastMessage(task) || 'the agent failed the task')
  }
}

/** Fails if all parts of the answer are data or files: the service would lose them. */
function answered(response: string, parts: readonly Part[]): FinishedRun {
  const lost = response === '' ? otherPartsOf(parts) : ''
  return lost === ''
    ? { kind: 'answered', response }
    : failedRun(
        'RESPONSE_INVALID',
        `the agent answered without text. It sent ${lost}. This service reads text parts only`,
      )
}

const failed = (message: string, retryable = false): FinishedRun =>
  failedRun('RUNTIME_ERROR', message, retryable)

/** Protocol errors and most 4xx are final. Network errors can pass, and a lost task restarts. */
const isRetryable = (error: unknown): boolean =>
  error instanceof TaskNotFoundError ||
  (!(error instanceof A2AError) &&
    !(error instanceof Error && /Status: 4(?!08|09|29)/.test(error.message)))
