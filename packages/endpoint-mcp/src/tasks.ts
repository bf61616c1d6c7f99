import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type InputRequests,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { capabilitiesOf, type ClientContext } from './client.js'

/** The extension of revision 2026-07-28 whose clients read the result of a call later. */
const TASKS = 'io.modelcontextprotocol/tasks'
export const TASKS_CAPABILITY = { extensions: { [TASKS]: {} } }
const POLL_INTERVAL_MS = 1_000

/** A call of a tool that goes on after its request. */
export type Task = TaskState & {
  readonly taskId: string
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** How long after `createdAt` the task can be read. null: always. */
  readonly ttlMs: number | null
}

export type TaskState =
  | { readonly status: 'working' | 'cancelled' }
  | { readonly status: 'input_required'; readonly inputRequests: InputRequests }
  | { readonly status: 'completed'; readonly result: CallToolResult }
  /** The call would have had this error of JSON-RPC. */
  | { readonly status: 'failed'; readonly error: { code: number; message: string } }

/** The tasks that one caller reaches. A call that is refused throws a `ProtocolError`. */
export type Tasks = {
  get(taskId: string, ctx: ClientContext): Promise<Task>
  /** Answers the open questions of a task. Ignores answers to other questions. */
  update(taskId: string, answers: Readonly<Record<string, unknown>>): Promise<void>
  /** Does nothing if the task has ended. */
  cancel(taskId: string): Promise<void>
}

/** Returns the result of a call that goes on as a task. */
export const createdTask = ({ taskId, status, createdAt, lastUpdatedAt, ttlMs }: Task) => ({
  resultType: 'task',
  // The SDK adds it to every result of a tool.
  content: [],
  taskId,
  status,
  createdAt,
  lastUpdatedAt,
  ttlMs,
  pollIntervalMs: POLL_INTERVAL_MS,
})

/**
 * Answers the requests about tasks. An exception becomes an error that says nothing of its reason.
 */
export function serveTasks(server: Server, tasks: Tasks, onError: (error: unknown) => void): void {
  const serve = (
    method: string,
    answer: (taskId: string, ctx: ServerContext['mcpReq']) => Promise<Task | void>,
  ) =>
    server.setRequestHandler(method, { params: PARAMS }, async ({ taskId }, { mcpReq }) => {
      if (!takesTasks(mcpReq)) throw tasksMissing()
      try {
        const task = await answer(taskId, mcpReq)
        return task ? shownTask(task) : {}
      } catch (error) {
        if (error instanceof ProtocolError) throw error
        onError(error)
        throw new ProtocolError(ProtocolErrorCode.InternalError, 'The service failed unexpectedly')
      }
    })
  serve('tasks/get', (taskId, ctx) => tasks.get(taskId, ctx))
  serve('tasks/update', (taskId, { inputResponses = {} }) => tasks.update(taskId, inputResponses))
  serve('tasks/cancel', (taskId) => tasks.cancel(taskId))
}

/** The result inside has the type that the SDK adds to the result of a call. */
const shownTask = (task: Task) => ({
  ...task,
  ...('result' in task && { result: { ...task.result, resultType: 'complete' } }),
  pollIntervalMs: POLL_INTERVAL_MS,
})

const PARAMS = z.object({ taskId: z.string() })

/** True if the client can read the result of the call as a task. */
export const takesTasks = (ctx: ClientContext): boolean =>
  capabilitiesOf(ctx).extensions?.[TASKS] !== undefined

/** The error for a client that does not declare the extension. */
export const tasksMissing = (): ProtocolError =>
  new MissingRequiredClientCapabilityError({ requiredCapabilities: TASKS_CAPABILITY })
