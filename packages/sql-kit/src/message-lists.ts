import type { Instant, Message, SessionSummary } from '@org/agent-messaging-core'
import {
  changeConditions,
  deadlineCursor,
  deadlinePlace,
  isAsking,
  MESSAGE_COLUMNS,
  MESSAGE_SESSION_COLUMNS,
  messageBounds,
  selectList,
  toMessage,
  toPage,
  type CursorPlace,
  type DeadlinePlace,
  type MessageBounds,
  type MessageFilter,
  type MessageRef,
  type MessageRow,
  type MessageStore,
  type QuestionsOf,
  type SessionScope,
  type SessionsOf,
} from '@org/agent-messaging-core/storage'
import { atMost, type Dialect, type MessageSource } from './dialect.js'
import { messageBacklog, messageBacklogs } from './backlogs.js'
import { inScope, scopeParameters } from './session-scope.js'
import { all, one, sql, type Operation, type Runner, type Sql } from './operation.js'

/**
 * Append a `where`. The join hides messages whose session has no agent: erased ones, and messages
 * of deleted agents.
 */
const fromMessages = ({ schema }: Dialect, table = `${schema}messages`): string => `
  from ${table} m join ${schema}sessions s on s.seq = m.session_seq
    join ${schema}agents a on a.id = s.agent_id`
/** Append a `where`. */
export const selectMessage = (d: Dialect, table?: string): string => `
  select ${selectList(MESSAGE_COLUMNS, 'm')}, ${selectList(MESSAGE_SESSION_COLUMNS, 's')},
    a.project_id as "projectId" ${fromMessages(d, table)}`

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
    const { sessionId, scope, order = 'desc' } = filter
    const seq = scope ? OWN_SEQ : 'm.seq'
    const [page, by] =
      sessionId === undefined
        ? [`${seq} between @fromSeq and @toSeq`, seq]
        : [
            `m.position between @fromPosition and @toPosition
              and ${d.plain('m.seq')} between @fromSeq and @toSeq`,
            'm.position',
          ]
    const parts = sourcesOf(filter, d).map(
      ({ table, condition }) => `${selectMessage(d, table)}
        where ${condition} and ${conditionsOf(filter, d)} and ${page}
        order by ${by} ${order} ${atMost('@rows')}`,
    )
    const [part = ''] = parts
    return parts.length === 1
      ? part
      : `select * from ((${parts.join(') union all (')})) m
        order by ${by} ${order} ${atMost('@rows')}`
  }

const messageCountSql =
  (
    filter: MessageFilter,
  ): Sql<MessageFilter & { readonly most: number }, { readonly count: number }> =>
  (d) => {
    const parts = sourcesOf(filter, d).map(
      ({ table, condition }) => `
        select * from (select 1 ${fromMessages(d, table)}
          where ${condition} and ${conditionsOf(filter, d)} ${atMost('@most')}) part`,
    )
    return `select count(*) as count from (${parts.join(' union all ')}) found`
  }

/**
 * Orders by `seq` without an index on it. The planner would rather read all messages in that order
 * than sort the ones of a scope.
 */
const OWN_SEQ = 'm.seq + 0'

/** The few messages without an answer are found at once. */
function sourcesOf(filter: MessageFilter, d: Dialect): readonly MessageSource[] {
  const { sessionId, scope, status, state, progress } = filter
  const isUnanswered =
    progress !== undefined || status === 'pending' || (state !== undefined && state !== 'responded')
  // In a scope, the planner would rather read the index of all agents.
  if (isUnanswered && sessionId === undefined && !scope) return d.unanswered('@agentId', state)
  const condition = isUnanswered ? "m.state <> 'responded'" : 'true'
  return [{ table: `${d.schema}messages`, condition }]
}

function conditionsOf(filter: MessageFilter, d: Dialect): string {
  const { sessionId, scope, status, state } = filter
  const owner = scope ? 's' : 'm'
  const conditions = [
    sessionId === undefined
      ? `${owner}.agent_id = @agentId`
      : `m.session_seq = (select seq from ${d.schema}sessions
          where agent_id = @agentId and session_id = @sessionId)`,
    ...(scope ? [inScope(scope, d)] : []),
    `${d.plain('a.project_id')} = @projectId`,
    ...changeConditions(filter),
  ]
  if (status === 'responded') conditions.push("m.state = 'responded'")
  if (state !== undefined) conditions.push('m.state = @state')
  return conditions.join(' and ')
}

/** Sorts after all ids. */
const FIRST = '~'
type SessionPage = SessionsOf & { readonly before: string; readonly rows: number }
export const sessionListSql =
  (scope?: SessionScope): Sql<SessionPage, SessionSummary> =>
  (d) => {
    // The planner would rather read all sessions in this order than sort the ones of a scope.
    const last = scope ? "s.last_message_id || ''" : 's.last_message_id'
    return `
    select s.session_id as "sessionId", s.open_count as "openCount",
      s.last_message_id as "lastMessageId", s.last_message_at as "lastMessageAt"
    from ${d.schema}sessions s join ${d.schema}agents a on a.id = s.agent_id
    where s.agent_id = @agentId and ${last} < @before ${scope ? `and ${inScope(scope, d)}` : ''}
      and ${d.plain('a.project_id')} = @projectId
    order by ${last} desc ${atMost('@rows')}`
  }
const allSessions = sql<SessionPage, SessionSummary>(sessionListSql())

type Ids = { readonly ids: readonly string[] }
export const messagesById = sql<Ids, MessageRow>(
  (d) => `${selectMessage(d)} where ${d.oneOf('m.id', 'ids')}`,
)
const settled = sql<Ids, MessageRow>(
  (d) => `${messagesById(d)} and m.state in ('responded', 'failed', 'cancelled', 'input_required')`,
)
const placeAt = (cursor: string | undefined): DeadlinePlace =>
  deadlinePlace(cursor) ?? { at: 0, id: '' }

type Places = QuestionsOf & DeadlinePlace & { readonly rows: number }
type Place = { readonly id: string; readonly deadlineAt: Instant }

/** Finds the places of questions in the index, so that it reads the messages of one page only. */
export const askingSql =
  ({ agentIds, sessionId, scope, endUserId }: QuestionsOf): Sql<Places, Place> =>
  (d) => {
    const { schema, join } = d
    const ofSession = sessionId !== undefined || scope
    return `
    select m.id, m.deadline_at as "deadlineAt"
    from ${schema}agents a ${join} ${schema}messages m on m.agent_id = a.id
      ${ofSession ? `join ${schema}sessions s on s.seq = m.session_seq` : ''}
    where a.project_id = @projectId and m.input_due_at is not null and m.deadline_at >= @at
      and (m.deadline_at > @at or m.id > @id)
      ${agentIds ? `and ${d.oneOf('a.id', 'agentIds')}` : ''}
      ${sessionId === undefined ? '' : 'and s.session_id = @sessionId'}
      ${scope ? `and ${inScope(scope, d)}` : ''}
      ${endUserId === undefined ? '' : `and ${d.hasEndUser} and ${d.endUser} = @endUserId`}
    order by m.deadline_at, m.id ${atMost('@rows')}`
  }

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
  | 'listAsking'
  | 'list'
  | 'count'
  | 'listSessions'
  | 'backlog'
  | 'backlogs'

export const messageLists = ({ read }: Runner): Pick<MessageStore, Lists> => ({
  get: read(function* (ref) {
    const row = yield* one(messageByRef, ref)
    return row && toMessage(row)
  }),
  getHeld: read(function* (messageId) {
    const row = yield* one(messageById, { messageId })
    return row && { message: toMessage(row), token: row.lease }
  }),
  find: read((ids) => found(messagesById, { ids })),
  findSettled: read((ids) => found(settled, { ids })),
  listAsking: read(function* (questions, { cursor, limit }) {
    const given = { ...questions, ...scopeParameters(questions.scope), ...placeAt(cursor) }
    const places = yield* all(askingSql(questions), { ...given, rows: limit + 1 })
    const page = places.slice(0, limit)
    const messages = yield* found(messagesById, { ids: page.map(({ id }) => id) })
    const last = places.length > limit ? page.at(-1) : undefined
    return {
      data: page.flatMap(({ id }) => messages.filter((one) => one.id === id && isAsking(one))),
      nextCursor: last ? deadlineCursor(last.deadlineAt, last.id) : null,
    }
  }),
  dueInputs: read((due) => found(dueInputs, due)),
  list: read(function* (filter, page) {
    const { cursor, limit } = page
    const place = cursor === undefined ? undefined : yield* one(placeOf, { cursor })
    const bounds = messageBounds(cursor, place, filter)
    const given = { ...filter, ...scopeParameters(filter.scope), ...bounds }
    const rows = yield* all(messageListSql(filter), { ...given, rows: limit + 1 })
    return toPage(rows, limit, toMessage)
  }),
  count: read(function* (filter, most) {
    const given = { ...filter, ...scopeParameters(filter.scope), most }
    return Math.min(most, (yield* one(messageCountSql(filter), given))?.count ?? 0)
  }),
  // Ordered by the newest message's id, because ids grow with time.
  listSessions: read(function* ({ scope, ...agent }, { limit, cursor = FIRST }) {
    const given = { ...agent, ...scopeParameters(scope), before: cursor, rows: limit + 1 }
    const rows = yield* all(scope ? sessionListSql(scope) : allSessions, given)
    const data = rows.slice(0, limit)
    return { data, nextCursor: rows.length > limit ? (data.at(-1)?.lastMessageId ?? null) : null }
  }),
  backlog: read(messageBacklog),
  backlogs: read(messageBacklogs),
})
