import {
  changeConditions,
  MESSAGE_COLUMNS,
  MESSAGE_SESSION_COLUMNS,
  messageBounds,
  selectList,
  toMessage,
  toPage,
  type CursorPlace,
  type Instant,
  type Message,
  type MessageBounds,
  type MessageFilter,
  type MessageRef,
  type MessageRow,
  type MessageStore,
  type SessionsOf,
  type SessionSummary,
} from '@org/agent-messaging-core/storage'
import { atMost, type Dialect } from './dialect.js'
import { messageBacklog } from './backlogs.js'
import { all, one, sql, type Operation, type Runner, type Sql } from './operation.js'

/**
 * Append a `where`. The join hides messages whose session has no agent: erased ones, and messages
 * of deleted agents.
 */
const fromMessages = ({ schema }: Dialect): string => `
  from ${schema}messages m join ${schema}sessions s on s.seq = m.session_seq
    join ${schema}agents a on a.id = s.agent_id`
/** Append a `where`. */
export const selectMessage = (d: Dialect): string => `
  select ${selectList(MESSAGE_COLUMNS, 'm')}, ${selectList(MESSAGE_SESSION_COLUMNS, 's')},
    a.project_id as "projectId" ${fromMessages(d)}`

export const messageByRef = sql<MessageRef, MessageRow>((d) => {
  const [messageId, agentId, projectId] = ['messageId', 'agentId', 'projectId'].map((name) =>
    d.plain(`@${name}`),
  )
  return `${selectMessage(d)}
    where m.id = ${messageId} and m.agent_id = ${agentId} and a.project_id = ${projectId}`
})

export const messageById = sql<Pick<MessageRef, 'messageId'>, MessageRow>(
  (d) => `${selectMessage(d)} where m.id = ${d.plain('@messageId')}`,
)

const placeOf = sql<{ readonly cursor: string }, CursorPlace>(
  ({ schema }) => `
    select m.id, m.seq, m.position, s.session_id as "sessionId"
    from ${schema}messages m join ${schema}sessions s on s.seq = m.session_seq
    where m.id <= @cursor order by m.id desc limit 1`,
)

export const messageListSql =
  (
    filter: MessageFilter,
  ): Sql<MessageFilter & MessageBounds & { readonly rows: number }, MessageRow> =>
  (d) => {
    const { sessionId, order = 'desc' } = filter
    const [page, by] =
      sessionId === undefined
        ? ['m.seq between @fromSeq and @toSeq', 'm.seq']
        : [
            `m.position between @fromPosition and @toPosition
              and ${d.plain('m.seq')} between @fromSeq and @toSeq`,
            'm.position',
          ]
    return `${selectMessage(d)} where ${conditionsOf(filter, d)} and ${page}
      order by ${by} ${order} ${atMost('@rows')}`
  }

const messageCountSql =
  (
    filter: MessageFilter,
  ): Sql<MessageFilter & { readonly most: number }, { readonly count: number }> =>
  (d) =>
    `
    select count(*) as count from (
      select 1 ${fromMessages(d)} where ${conditionsOf(filter, d)} ${atMost('@most')}) found`

/** The few messages without an answer have an index. */
function conditionsOf(filter: MessageFilter, d: Dialect): string {
  const { sessionId, status, state, progress } = filter
  const conditions = [
    sessionId === undefined
      ? 'm.agent_id = @agentId'
      : `m.session_seq = (select seq from ${d.schema}sessions
          where agent_id = @agentId and session_id = @sessionId)`,
    `${d.plain('a.project_id')} = @projectId`,
    ...changeConditions(filter),
  ]
  const asked = [status, state].filter((one) => one !== undefined)
  if (progress !== undefined || asked.some((one) => one !== 'responded'))
    conditions.push(d.unanswered)
  if (asked.includes('responded')) conditions.push(`not (${d.unanswered})`)
  if (state !== undefined) conditions.push('m.state = @state')
  return conditions.join(' and ')
}

/** Sorts after all ids. */
const FIRST = '~'
const sessions = sql<
  SessionsOf & { readonly before: string; readonly rows: number },
  SessionSummary
>(
  ({ schema, plain }) => `
    select s.session_id as "sessionId", s.open_count as "openCount",
      s.last_message_id as "lastMessageId", s.last_message_at as "lastMessageAt"
    from ${schema}sessions s join ${schema}agents a on a.id = s.agent_id
    where s.agent_id = @agentId and s.last_message_id < @before
      and ${plain('a.project_id')} = @projectId
    order by s.last_message_id desc ${atMost('@rows')}`,
)

type Ids = { readonly ids: readonly string[] }
const byIds = sql<Ids, MessageRow>((d) => `${selectMessage(d)} where ${d.oneOf('m.id', 'ids')}`)
const settled = sql<Ids, MessageRow>(
  (d) => `${byIds(d)} and m.state in ('responded', 'failed', 'cancelled', 'input_required')`,
)
const dueInputs = sql<{ readonly now: Instant; readonly limit: number }, MessageRow>(
  (d) => `
    ${selectMessage(d)} where m.input_due_at <= @now
    order by m.input_due_at ${atMost('@limit')}`,
)

function* found<P extends object>(
  statement: Sql<P, MessageRow>,
  parameters: P,
): Operation<Message[]> {
  return (yield* all<P, MessageRow>(statement, parameters)).map(toMessage)
}

type Lists =
  | 'get'
  | 'getHeld'
  | 'find'
  | 'findSettled'
  | 'dueInputs'
  | 'list'
  | 'count'
  | 'listSessions'
  | 'backlog'

export const messageLists = ({ read }: Runner): Pick<MessageStore, Lists> => ({
  get: read(function* (ref) {
    const row = yield* one(messageByRef, ref)
    return row && toMessage(row)
  }),
  getHeld: read(function* (messageId) {
    const row = yield* one(messageById, { messageId })
    return row && { message: toMessage(row), token: row.lease }
  }),
  find: read((ids) => found(byIds, { ids })),
  findSettled: read((ids) => found(settled, { ids })),
  dueInputs: read((due) => found(dueInputs, due)),
  list: read(function* (filter, page) {
    const { cursor, limit } = page
    const place = cursor === undefined ? undefined : yield* one(placeOf, { cursor })
    const bounds = messageBounds(cursor, place, filter)
    const rows = yield* all(messageListSql(filter), { ...filter, ...bounds, rows: limit + 1 })
    return toPage(rows, limit, toMessage)
  }),
  count: read(function* (filter, most) {
    return (yield* one(messageCountSql(filter), { ...filter, most }))?.count ?? 0
  }),
  // Ordered by the newest message's id, because ids grow with time.
  listSessions: read(function* (agent, { limit, cursor = FIRST }) {
    const rows = yield* all(sessions, { ...agent, before: cursor, rows: limit + 1 })
    const data = rows.slice(0, limit)
    return { data, nextCursor: rows.length > limit ? (data.at(-1)?.lastMessageId ?? null) : null }
  }),
  backlog: read(messageBacklog),
})
