import { TaskState, type ListTasksRequest, type ListTasksResponse } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import type { EndpointService, Message } from '@org/agent-messaging-core'
import { isStorableText, isUuid } from '@org/agent-messaging-core/runtime'
import { a2aError } from './errors.js'
import { historyLengthOf } from './input.js'
import { changedAt, taskOf, taskStateOf } from './task.js'

const PAGE = { default: 50, most: 100 }
const TOKEN = /^(.+)\.(\d{1,9})$/

/**
 * Lists an agent's messages as tasks, the newest first. A page with a filter can be shorter than
 * its size and still have a next one. `totalSize` counts the tasks up to the end of the page, and
 * one more if there is a next page.
 */
export async function listTasks(
  { messages }: EndpointService,
  { projectId, agent }: { readonly projectId: string; readonly agent: string },
  request: ListTasksRequest,
): Promise<ListTasksResponse> {
  const { contextId, status, statusTimestampAfter, includeArtifacts = false } = request
  const limit = pageSizeOf(request.pageSize)
  const { cursor, before } = startOf(request.pageToken)
  const historyLength = historyLengthOf(request.historyLength)
  const changedFrom = instantOf(statusTimestampAfter)
  const filter = filterOf(status)
  const nothing = { tasks: [], nextPageToken: '', pageSize: limit, totalSize: 0 }
  // No session has a text that no store accepts.
  if (!filter || !isStorableText(contextId)) return nothing
  const found = await messages.list({
    projectId,
    agent,
    ...filter,
    ...(contextId !== '' && { sessionId: contextId }),
    page: { limit, ...(cursor !== undefined && { cursor }) },
  })
  if (found.isErr()) throw a2aError(found.error)
  const { data, nextCursor } = found.value
  const tasks = data
    .filter((message) => isWanted(message, status, changedFrom))
    .toSorted((one, other) => changedAt(other) - changedAt(one))
    .map((message) => taskOf(message, { historyLength, includeArtifacts }))
  const seen = before + tasks.length
  return {
    tasks,
    nextPageToken: nextCursor === null ? '' : `${nextCursor}.${seen}`,
    pageSize: limit,
    totalSize: nextCursor === null ? seen : seen + 1,
  }
}

const isWanted = (message: Message, status: TaskState, changedFrom: number): boolean =>
  (status === TaskState.TASK_STATE_UNSPECIFIED || taskStateOf(message) === status) &&
  changedAt(message) >= changedFrom

type Filter = {
  readonly status?: 'pending' | 'responded'
  readonly state?: Message['state']['kind']
}

/** Returns what the storage filters, or undefined if no message has the state. */
function filterOf(status: TaskState): Filter | undefined {
  switch (status) {
    case TaskState.TASK_STATE_UNSPECIFIED:
      return {}
    case TaskState.TASK_STATE_SUBMITTED:
      return { state: 'queued' }
    case TaskState.TASK_STATE_WORKING:
      return { status: 'pending' }
    case TaskState.TASK_STATE_INPUT_REQUIRED:
      return { state: 'input_required' }
    case TaskState.TASK_STATE_COMPLETED:
      return { state: 'responded' }
    case TaskState.TASK_STATE_FAILED:
      return { state: 'failed' }
    case TaskState.TASK_STATE_CANCELED:
      return { state: 'cancelled' }
    case TaskState.UNRECOGNIZED:
      throw new RequestMalformedError('status must be a state of A2A, such as TASK_STATE_WORKING')
    default:
      return undefined
  }
}

function pageSizeOf(size: number | undefined): number {
  if (size === undefined) return PAGE.default
  if (Number.isInteger(size) && size >= 1 && size <= PAGE.most) return size
  throw new RequestMalformedError(`pageSize must be a whole number from 1 to ${PAGE.most}`)
}

function startOf(token: string): { readonly cursor?: string; readonly before: number } {
  if (token === '') return { before: 0 }
  const [, cursor = '', before] = TOKEN.exec(token) ?? []
  if (!isUuid(cursor))
    throw new RequestMalformedError('pageToken must be the nextPageToken of a page')
  return { cursor, before: Number(before) }
}

function instantOf(text: string | undefined): number {
  if (text === undefined || text === '') return -Infinity
  const at = Date.parse(text)
  if (!Number.isNaN(at)) return at
  throw new RequestMalformedError(
    'statusTimestampAfter must be a time such as 2026-01-01T00:00:00Z',
  )
}
