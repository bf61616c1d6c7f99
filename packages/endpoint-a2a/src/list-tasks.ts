import { TaskState, type ListTasksRequest, type ListTasksResponse } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import type { Message } from '@org/agent-messaging-core'
import { isStorableText, isUuid } from '@org/agent-messaging-core/runtime'
import {
  changedAt,
  type ByAccess,
  type EndpointService,
  type MessageProgress,
} from '@org/agent-messaging-core/host'
import { rethrow } from './errors.js'
import { historyLengthOf } from './input.js'
import { taskOf } from './task.js'

const PAGE = { default: 50, most: 100 }
/** `totalSize` stops here, so that a long history costs no more. */
const MOST_COUNTED = 10_000

/** Lists an agent's messages as tasks, the newest first. */
export async function listTasks(
  { messages }: EndpointService,
  place: { readonly projectId: string; readonly agent: string } & ByAccess,
  request: ListTasksRequest,
): Promise<ListTasksResponse> {
  const { contextId, status, statusTimestampAfter, includeArtifacts = false } = request
  const limit = pageSizeOf(request.pageSize)
  const cursor = cursorOf(request.pageToken)
  const historyLength = historyLengthOf(request.historyLength)
  const changedFrom = instantOf(statusTimestampAfter)
  const filter = filterOf(status)
  const nothing = { tasks: [], nextPageToken: '', pageSize: limit, totalSize: 0 }
  // No session has a text that no store accepts.
  if (!filter || !isStorableText(contextId)) return nothing
  const wanted = {
    ...place,
    ...filter,
    ...(contextId !== '' && { sessionId: contextId }),
    changedFrom,
  }
  const page = { limit, cursor }
  const { data, nextCursor } = await messages
    .list({ ...wanted, ...page, parts: includeArtifacts })
    .catch(rethrow)
  const totalSize = await messages.count({ ...wanted, most: MOST_COUNTED }).catch(rethrow)
  return {
    tasks: data
      .toSorted((one, other) => changedAt(other) - changedAt(one))
      .map((message) => taskOf(message, { historyLength, includeArtifacts })),
    nextPageToken: nextCursor ?? '',
    pageSize: limit,
    totalSize,
  }
}

type Filter = {
  readonly progress?: MessageProgress
  readonly state?: Message['state']['kind']
}

/** Returns what the storage filters, or undefined if no message has the state. */
function filterOf(status: TaskState): Filter | undefined {
  switch (status) {
    case TaskState.TASK_STATE_UNSPECIFIED:
      return {}
    case TaskState.TASK_STATE_SUBMITTED:
      return { progress: 'waiting' }
    case TaskState.TASK_STATE_WORKING:
      return { progress: 'working' }
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

function cursorOf(token: string): string | undefined {
  if (token === '') return undefined
  if (isUuid(token)) return token
  throw new RequestMalformedError('pageToken must be the nextPageToken of a page')
}

function instantOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const at = Date.parse(text)
  if (!Number.isNaN(at)) return at
  throw new RequestMalformedError(
    'statusTimestampAfter must be a time such as 2026-01-01T00:00:00Z',
  )
}
