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

/** `MessageStore.list`. Filters but for `responded` read the messages without an answer only, which are few among many. */
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

/** An answer is there or not whatever the state is called: an index on that is left alone when a message is claimed. */
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
          `m.session_seq = (select seq from agent_messaging.sessions where agent_id = @agentId and session_id = @sessionId)
            and m.position between @fromPosition and @toPosition and m.seq between @fromSeq and @toSeq`,
          'm.position',
        ]
  const conditions = [from, 'a.project_id = @projectId']
  if (status !== undefined)
    conditions.push(status === 'responded' ? 'm.response is not null' : 'm.response is null')
  if (state !== undefined)
    conditions.push(
      state === 'responded' ? 'm.response is not null' : 'm.response is null and m.state = @state',
    )
  return `${selectMessage} where ${conditions.join(' and ')} order by ${by} ${order} limit @rows`
}
