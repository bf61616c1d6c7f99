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
import type { Queries } from './database.js'
import { selectMessage } from './message-row.js'
import { sql } from './sql.js'

const placeSql = sql<{ readonly cursor: string }, CursorPlace>(`
  select m.id, m.seq, m.position, s.session_id as "sessionId"
  from agent_messaging.messages m join agent_messaging.sessions s on s.seq = m.session_seq
  where m.id <= @cursor order by m.id desc limit 1`)

/** `MessageStore.list`. A status other than `responded` reads only the few messages without one. */
export async function listMessages(
  db: Queries,
  filter: MessageFilter,
  page: PageOf,
): Promise<Page<Message>> {
  const { cursor, limit } = page
  const place = cursor === undefined ? undefined : await db.one(placeSql, { cursor })
  const bounds = messageBounds(cursor, place, filter)
  const statement = sql<MessageFilter & MessageBounds & { readonly rows: number }, MessageRow>(
    messageListSql(filter),
  )
  const rows = await db.all(statement, { ...filter, ...bounds, rows: limit + 1 })
  return toPage(rows, limit, toMessage)
}

/** Conditions use `response` and not `state`, so that a claim does not change the indexes. */
export function messageListSql({
  sessionId,
  status,
  state,
  order = 'desc',
}: MessageFilter): string {
  const conditions = ['a.project_id = @projectId', 'm.seq between @fromSeq and @toSeq']
  if (sessionId === undefined) conditions.push('m.agent_id = @agentId')
  else
    conditions.push(
      `m.session_seq = ${SESSION}`,
      'm.position between @fromPosition and @toPosition',
    )
  if (status !== undefined)
    conditions.push(status === 'responded' ? 'm.response is not null' : 'm.response is null')
  if (state === 'responded') conditions.push('m.response is not null')
  else if (state !== undefined) conditions.push('m.response is null and m.state = @state')
  const column = sessionId === undefined ? 'm.seq' : 'm.position'
  return `${selectMessage} where ${conditions.join(' and ')} order by ${column} ${order} limit @rows`
}

const SESSION = `(
  select seq from agent_messaging.sessions where agent_id = @agentId and session_id = @sessionId)`
