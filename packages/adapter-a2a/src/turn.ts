import { Role, TaskState, type Message, type SendMessageRequest, type Task } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import {
  A2AError,
  RequestMalformedError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import {
  failedRun,
  type Clock,
  type FinishedRun,
  type RunRequest,
} from '@org/agent-messaging-core/runtime'
import { readConversation, type Conversation } from './conversation.js'
import { answerOf, lastWords, textOf } from './task-text.js'

/** Waits between looks at a task that is under way (ms); the last one repeats. */
const POLL_DELAYS_MS = [100, 200, 400, 800, 1_600]
/** Looks in a row that may fail before the run does; the next attempt then goes on with the same task. */
const MOST_FAILED_LOOKS = 5
const CANCEL_TIMEOUT_MS = 3_000

export type TurnDeps = { readonly client: Client; readonly clock: Pick<Clock, 'sleep'> }

/**
 * One turn of the conversation: sends the message, or finds the task that an earlier attempt at it began, and looks at that
 * until it rests. The task's id is kept before the first look, so that a turn is never begun twice because we were restarted. A failure
 * is told in whatever words the agent found.
 */
export async function takeTurn(
  d: TurnDeps,
  run: RunRequest,
  signal: AbortSignal,
): Promise<FinishedRun> {
  try {
    const begun = (await resumed(d, run, signal)) ?? (await send(d, run, signal))
    if ('messageId' in begun) return await replied(run, begun)
    await keep(run, { contextId: begun.contextId, taskId: begun.id, messageId: run.messageId })
    return await conclude(run, await atRest(d, begun, answeredQuestion(run, begun), signal))
  } catch (error) {
    return failed(reasonOf(error), isRetryable(error))
  }
}

/**
 * The task that an earlier attempt at this very message began, as it stands now. A first attempt has none: whoever asks again for what
 * failed wants another task, not the same failure. Nor does one help that was cancelled, as we do when an attempt takes too long.
 */
async function resumed(
  { client }: TurnDeps,
  run: RunRequest,
  signal: AbortSignal,
): Promise<Task | undefined> {
  const known = readConversation(run.sessionState)
  if (known?.taskId === undefined || known.messageId !== run.messageId || run.attempt === 1)
    return undefined
  try {
    const task = await client.getTask({ tenant: '', id: known.taskId }, { signal })
    return task.status?.state === TaskState.TASK_STATE_CANCELED ? undefined : task
  } catch (error) {
    if (error instanceof TaskNotFoundError) return undefined
    throw error
  }
}

/** Continues the task in which the agent has asked back, or begins one. */
async function send(d: TurnDeps, run: RunRequest, signal: AbortSignal): Promise<Message | Task> {
  const known = readConversation(run.sessionState)
  const begin = (taskId: string) =>
    d.client.sendMessage(...sending(run, { contextId: known?.contextId ?? '', taskId }, signal))
  if (known?.asked === undefined || known.taskId === undefined) return begin('')
  try {
    return await begin(known.taskId)
  } catch (error) {
    if (!hasLetGo(error)) throw error
    return begin('')
  }
}

/** The agent has forgotten the task, or ended it while its question stood open; in the words of one protocol or another. */
const hasLetGo = (error: unknown): boolean =>
  error instanceof TaskNotFoundError ||
  error instanceof UnsupportedOperationError ||
  error instanceof RequestMalformedError

type Place = { readonly contextId: string; readonly taskId: string }

function sending(
  run: RunRequest,
  place: Place,
  signal: AbortSignal,
): Parameters<Client['sendMessage']> {
  const message: Message = {
    messageId: run.messageId,
    ...place,
    role: Role.ROLE_USER,
    parts: [
      {
        content: { $case: 'text', value: run.message },
        metadata: undefined,
        filename: '',
        mediaType: 'text/plain',
      },
    ],
    metadata: {
      sessionId: run.sessionId,
      executionPrincipal: run.executionPrincipal,
      ...(run.metadata && { metadata: run.metadata }),
    },
    extensions: [],
    referenceTaskIds: [],
  }
  const request: SendMessageRequest = {
    tenant: '',
    message,
    configuration: undefined,
    metadata: undefined,
  }
  // Sent as headers, by either transport.
  return [request, { signal, ...(run.trace && { serviceParameters: { ...run.trace } }) }]
}

async function atRest(
  d: TurnDeps,
  begun: Task,
  answered: string | undefined,
  signal: AbortSignal,
): Promise<Task> {
  let task = begun
  let failedLooks = 0
  for (let look = 0; isUnderWay(task) || isStale(task, answered); look++) {
    await d.clock.sleep(POLL_DELAYS_MS[Math.min(look, POLL_DELAYS_MS.length - 1)] ?? 0, signal)
    try {
      signal.throwIfAborted()
      task = await d.client.getTask({ tenant: '', id: begun.id }, { signal })
      failedLooks = 0
    } catch (error) {
      if (signal.aborted) await cancel(d, begun, signal)
      if (
        signal.aborted ||
        error instanceof TaskNotFoundError ||
        ++failedLooks >= MOST_FAILED_LOOKS
      )
        throw error
    }
  }
  return task
}

/** Not when the run only moves to another process, or to the next start of this one: there it goes on with the same task. */
async function cancel({ client }: TurnDeps, { id }: Task, { reason }: AbortSignal): Promise<void> {
  const cause = reason instanceof Error ? reason.cause : undefined
  if (cause === 'drain' || cause === 'lost') return
  await client
    .cancelTask(
      { tenant: '', id, metadata: undefined },
      { signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS) },
    )
    .catch(() => undefined)
}

const isUnderWay = ({ status }: Task): boolean =>
  status === undefined ||
  status.state === TaskState.TASK_STATE_SUBMITTED ||
  status.state === TaskState.TASK_STATE_WORKING

/** Agents may show the task as it was before they come to the message that continues it: a question that has its answer is no rest. */
const isStale = (task: Task, answered: string | undefined): boolean =>
  answered !== undefined &&
  task.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED &&
  questionOf(task) === answered

/** Undefined too when the agent gave its question nothing to know it by. */
function answeredQuestion(
  { sessionState, messageId }: RunRequest,
  { id }: Task,
): string | undefined {
  const known = readConversation(sessionState)
  return known?.messageId === messageId || known?.taskId !== id
    ? undefined
    : known.asked || undefined
}

const questionOf = ({ status }: Task): string =>
  [status?.message?.messageId, status?.timestamp].filter(Boolean).join('@')

const keep = (run: RunRequest, conversation: Conversation): Promise<void> =>
  run.remember(JSON.stringify(conversation))

async function replied(run: RunRequest, message: Message): Promise<FinishedRun> {
  if (message.contextId !== '') await keep(run, { contextId: message.contextId })
  return { kind: 'answered', response: textOf(message) }
}

async function conclude(run: RunRequest, task: Task): Promise<FinishedRun> {
  switch (task.status?.state) {
    case TaskState.TASK_STATE_COMPLETED:
      return { kind: 'answered', response: answerOf(task) }
    case TaskState.TASK_STATE_INPUT_REQUIRED:
      await keep(run, {
        contextId: task.contextId,
        taskId: task.id,
        messageId: run.messageId,
        asked: questionOf(task),
      })
      return { kind: 'answered', response: lastWords(task) }
    case TaskState.TASK_STATE_AUTH_REQUIRED:
      return failed(`the agent asks for credentials: ${lastWords(task)}`)
    case TaskState.TASK_STATE_CANCELED:
      return failed('the agent canceled the task')
    default:
      return failed(lastWords(task) || 'the agent failed the task')
  }
}

const failed = (message: string, retryable = false): FinishedRun =>
  failedRun('RUNTIME_ERROR', message, retryable)

/**
 * An error of the protocol, or a refusal by HTTP, will be the same next time; what happened on the way may be over then, and what the agent
 * has forgotten is begun anew.
 */
const isRetryable = (error: unknown): boolean =>
  error instanceof TaskNotFoundError ||
  (!(error instanceof A2AError) &&
    !(error instanceof Error && /Status: 4(?!08|09|29)/.test(error.message)))

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
