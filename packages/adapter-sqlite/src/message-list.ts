import type { Database } from 'better-sqlite3'
import {
  changeConditions,
  messageBounds,
  toMessage,
  toPage,
  type CursorPlace,
  type Message,
  type MessageBounds,
  type MessageFilter,
  type MessageRow,
  type Page,
  type PageOf,
} from '@org/agent-messaging-core/storage'
import { fromMessages, selectMessage } from './message-row.js'
import { atMost, preparedOnce } from './statements.js'

/**
 * `MessageStore.list`. A filter for a state other than `responded` reads only the few messages
 * without an answer.
 */
export function messageList(db: Database): (filter: MessageFilter, page: PageOf) => Page<Message> {
  const placeOf = db.prepare<[string], CursorPlace>(`
    select m.id, m.seq, m.position, s.session_id as sessionId
    from messages m join sessions s on s.seq = m.session_seq where m.id <= ? order by m.id desc limit 1`)
  const prepared = preparedOnce<MessageFilter & MessageBounds & { rows: number }, MessageRow>(db)
  return (filter, page) => {
    const { cursor, limit } = page
    const place = cursor === undefined ? undefined : placeOf.get(cursor)
    const bounds = messageBounds(cursor, place, filter)
    const rows = prepared(messageListSql(filter)).all({
      ...filter,
      ...bounds,
      rows: limit + 1,
    })
    return toPage(rows, limit, toMessage)
  }
}

/** `MessageStore.count`. */
export function messageCount(db: Database): (filter: MessageFilter, most: number) => number {
  const prepared = preparedOnce<MessageFilter & { most: number }, { count: number }>(db)
  return (filter, most) => {
    const [row] = prepared(messageCountSql(filter)).all({ ...filter, most })
    return row?.count ?? 0
  }
}

const messageCountSql = (filter: MessageFilter): string =>
  `select count(*) as count from (select 1 ${fromMessages} where ${conditionsOf(filter)} ${atMost('@most')})`

export function messageListSql(filter: MessageFilter): string {
  const { sessionId, order = 'desc' } = filter
  const [page, by] =
    sessionId === undefined
      ? ['m.seq between @fromSeq and @toSeq', 'm.seq']
      : [
          'm.position between @fromPosition and @toPosition and +m.seq between @fromSeq and @toSeq',
          'm.position',
        ]
  return `${selectMessage} where ${conditionsOf(filter)} and ${page} order by ${by} ${order} ${atMost('@rows')}`
}

/** A plus sign keeps the planner from using an index of another order. */
function conditionsOf(filter: MessageFilter): string {
  const { sessionId, status, state, progress } = filter
  const conditions = [
    sessionId === undefined
      ? 'm.agent_id = @agentId'
      : 'm.session_seq = (select seq from sessions where agent_id = @agentId and session_id = @sessionId)',
    '+a.project_id = @projectId',
    ...changeConditions(filter),
  ]
  if (progress !== undefined) conditions.push("m.state <> 'responded'")
  if (status !== undefined)
    conditions.push(status === 'responded' ? "m.state = 'responded'" : "m.state <> 'responded'")
  if (state !== undefined)
    conditions.push(
      state === 'responded'
        ? "m.state = 'responded'"
        : "m.state <> 'responded' and m.state = @state",
    )
  return conditions.join(' and ')
}
