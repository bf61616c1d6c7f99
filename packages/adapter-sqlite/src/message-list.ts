import type { Database } from 'better-sqlite3'
import type { Message, MessageFilter, Page, PageOf } from '@org/agent-messaging-core'
import { selectMessage, toMessage, type MessageRow } from './message-row.js'
import { pageStart, toPage } from './page.js'
import { preparedOnce } from './statements.js'

/** `MessageStore.list`. Filters but for `responded` read the messages without an answer only, which are few among many. */
export function messageList(db: Database): (filter: MessageFilter, page: PageOf) => Page<Message> {
  const start = pageStart(db, 'messages')
  const prepared = preparedOnce<MessageFilter & { before: number; rows: number }, MessageRow>(db)
  return (filter, page) => {
    const rows = prepared(messageListSql(filter)).all({ ...filter, before: start(page), rows: page.limit + 1 })
    return toPage(rows, page.limit, toMessage)
  }
}

/** A session's messages have the same order by position, and an index on it; the plus signs keep the planner from the other ones. */
export function messageListSql({ sessionId, status, state }: MessageFilter): string {
  const [from, order] =
    sessionId === undefined
      ? ['m.agent_id = @agentId and m.seq < @before', 'm.seq']
      : [
          'm.session_seq = (select seq from sessions where agent_id = @agentId and session_id = @sessionId) and +m.seq < @before',
          'm.position',
        ]
  const conditions = [from, '+a.project_id = @projectId']
  if (status !== undefined) conditions.push(status === 'responded' ? "m.state = 'responded'" : "m.state <> 'responded'")
  if (state !== undefined) conditions.push(state === 'responded' ? "m.state = 'responded'" : "m.state <> 'responded' and m.state = @state")
  return `${selectMessage} where ${conditions.join(' and ')} order by ${order} desc limit @rows`
}
