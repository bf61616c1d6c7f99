import type { Page, PageOf, SessionsOf, SessionSummary } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

/** Greater than every id. */
const FIRST = '~'

const selectSql = sql<
  SessionsOf & { readonly before: string; readonly rows: number },
  SessionSummary
>(`
  select s.session_id as "sessionId", s.open_count as "openCount",
    s.last_message_id as "lastMessageId", s.last_message_at as "lastMessageAt"
  from agent_messaging.sessions s join agent_messaging.agents a on a.id = s.agent_id
  where s.agent_id = @agentId and s.last_message_id < @before and a.project_id = @projectId
  order by s.last_message_id desc limit @rows`)

/** `MessageStore.listSessions`. Ordered by the newest message's id, because ids grow with time. */
export async function listSessions(
  db: Queries,
  agent: SessionsOf,
  { limit, cursor = FIRST }: PageOf,
): Promise<Page<SessionSummary>> {
  const rows = await db.all(selectSql, { ...agent, before: cursor, rows: limit + 1 })
  const data = rows.slice(0, limit)
  return { data, nextCursor: rows.length > limit ? (data.at(-1)?.lastMessageId ?? null) : null }
}
