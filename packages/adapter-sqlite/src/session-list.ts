import type { Database } from 'better-sqlite3'
import type { Page, PageOf, SessionsOf, SessionSummary } from '@org/agent-messaging-core/storage'
import { atMost } from './statements.js'

/** Sorts after all ids. */
const FIRST = '~'

/**
 * `MessageStore.listSessions`. The id of the newest message orders the sessions, because ids grow
 * with time.
 */
export function sessionList(
  db: Database,
): (agent: SessionsOf, page: PageOf) => Page<SessionSummary> {
  const select = db.prepare<[SessionsOf & { before: string; rows: number }], SessionSummary>(`
    select s.session_id as sessionId, s.open_count as openCount, s.last_message_id as lastMessageId, s.last_message_at as lastMessageAt
    from sessions s join agents a on a.id = s.agent_id
    where s.agent_id = @agentId and s.last_message_id < @before and +a.project_id = @projectId
    order by s.last_message_id desc ${atMost('@rows')}`)
  return (agent, { limit, cursor = FIRST }) => {
    const rows = select.all({ ...agent, before: cursor, rows: limit + 1 })
    const data = rows.slice(0, limit)
    return { data, nextCursor: rows.length > limit ? (data.at(-1)?.lastMessageId ?? null) : null }
  }
}
