import type { Database } from 'better-sqlite3'
import {
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
import { selectMessage } from './message-row.js'
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

/** A plus sign keeps the planner from using an index of another order. */
export function messageListSql({
  sessionId,
  status,
  state,
  order = 'desc',
}: MessageFilter): string {
  const [from, by] =
    sessionId === undefined
      ? ['m.agent_id = @agentId and m.seq between @fromSeq and @toSeq', 'm.seq']
      : [
          `m.session_seq = (select seq from sessions where agent_id = @agentId and session_id = @sessionId)
            and m.position between @fromPosition and @toPosition and +m.seq between @fromSeq and @toSeq`,
          'm.position',
        ]
  const conditions = [from, '+a.project_id = @projectId']
  if (status !== undefined)
    conditions.push(status === 'responded' ? "m.state = 'responded'" : "m.state <> 'responded'")
  if (state !== undefined)
    conditions.push(
      state === 'responded'
        ? "m.state = 'responded'"
        : "m.state <> 'responded' and m.state = @state",
    )
  return `${selectMessage} where ${conditions.join(' and ')} order by ${by} ${order} ${atMost('@rows')}`
}
