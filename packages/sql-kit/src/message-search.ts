import type { MessageSearch, SearchPath } from '@org/agent-messaging-core/storage'
import type { Dialect } from './dialect.js'
import { inScope } from './session-scope.js'

/** `at` orders before `seq`. It is 0 unless the time orders the messages. */
export type PageStart = { readonly id: string; readonly seq: number; readonly at: number }

/** What the databases write in different ways. */
export type SearchDialect = Pick<Dialect, 'oneOf' | 'endUser' | 'hasEndUser'> & {
  /** The agent whose messages a path has. */
  readonly agentId: string
  /** The condition of the index on the first characters of correlation ids. */
  readonly correlationStart: string
  /** The condition that the correlation id is the parameter. */
  readonly correlation: string
  readonly hasAnswer: string
  readonly zero: string
}

/** The place before which the messages of a page are. `row`: the last message up to the cursor. */
export const startOf = (cursor: string | undefined, row: PageStart | undefined) => ({
  before: cursor === undefined ? MAX : row ? row.seq + Number(row.id < cursor) : 0,
  beforeAt: cursor === undefined ? MAX : (row?.at ?? 0),
})
const MAX = Number.MAX_SAFE_INTEGER

/** The path's condition. It is exactly what the path's index serves. */
export function onPath(search: MessageSearch, path: SearchPath, d: SearchDialect): string[] {
  const { scope } = search
  if (path === 'scope' && scope)
    return [`s.agent_id = ${d.agentId}`, inScope(scope, d), 'm.seq + 0 < @before']
  const conditions = [`m.agent_id = ${d.agentId}`]
  if (path === 'correlation') conditions.push(d.correlationStart)
  if (path === 'end_user') conditions.push(isEndUser(d))
  if (path === 'asking') conditions.push('m.input_due_at is not null')
  if (path !== 'time') return [...conditions, 'm.seq < @before']
  const before = 'm.created_at <= @beforeAt and (m.created_at < @beforeAt or m.seq < @before)'
  return [...conditions, ...inTime(search), before]
}

/** Conditions that can reject a row of the path, except the text. */
export function besidePath(search: MessageSearch, path: SearchPath, d: SearchDialect): string[] {
  const { endUserId, correlationId, status, state } = search
  const conditions: string[] = []
  if (correlationId !== undefined) conditions.push(d.correlation)
  if (endUserId !== undefined && path !== 'end_user') conditions.push(isEndUser(d))
  if (status !== undefined)
    conditions.push(status === 'responded' ? d.hasAnswer : `not (${d.hasAnswer})`)
  if (state !== undefined) conditions.push(state === 'responded' ? d.hasAnswer : 'm.state = @state')
  return path === 'time' ? conditions : [...conditions, ...inTime(search)]
}

const isEndUser = ({ hasEndUser, endUser }: SearchDialect): string =>
  `${hasEndUser} and ${endUser} = @endUserId`

const inTime = ({ createdAfter, createdBefore }: MessageSearch): string[] => [
  ...(createdAfter === undefined ? [] : ['m.created_at >= @createdAfter']),
  ...(createdBefore === undefined ? [] : ['m.created_at < @createdBefore']),
]

export const placeOf = (path: SearchPath, { zero }: SearchDialect): string =>
  `m.id, m.seq, ${path === 'time' ? 'm.created_at' : zero} as at`
export const newestFirst = (path: SearchPath): string =>
  `order by ${path === 'time' ? 'm.created_at desc, ' : ''}${seqOf(path)} desc`
/** The sum keeps the planner from the order of all messages. */
export const seqOf = (path: SearchPath): string => (path === 'scope' ? 'm.seq + 0' : 'm.seq')
