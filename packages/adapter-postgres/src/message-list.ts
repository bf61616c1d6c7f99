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
import type { Queries } from './database.js'
import { fromMessages, selectMessage } from './message-row.js'
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

/** `MessageStore.count`. */
export async function countMessages(
  db: Queries,
  filter: MessageFilter,
  most: number,
): Promise<number> {
  const statement = sql<MessageFilter & { readonly most: number }, { readonly count: number }>(
    `select count(*)::integer as count
      from (select 1 ${fromMessages} where ${conditionsOf(filter)} limit @most) found`,
  )
  const row = await db.one(statement, { ...filter, most })
  return row?.count ?? 0
}

export function messageListSql(filter: MessageFilter): string {
  const { sessionId, order = 'desc' } = filter
  const [page, by] =
    sessionId === undefined
      ? ['m.seq between @fromSeq and @toSeq', 'm.seq']
      : [
          'm.position between @fromPosition and @toPosition and m.seq between @fromSeq and @toSeq',
          'm.position',
        ]
  return `${selectMessage} where ${conditionsOf(filter)} and ${page} order by ${by} ${order} limit @rows`
}

/** Conditions use `response` and not `state`, so that a claim does not change the indexes. */
function conditionsOf(filter: MessageFilter): string {
  const { sessionId, status, state, progress } = filter
  const conditions = [
    sessionId === undefined ? 'm.agent_id = @agentId' : `m.session_seq = ${SESSION}`,
    'a.project_id = @projectId',
    ...changeConditions(filter),
  ]
  if (progress !== undefined) conditions.push('m.response is null')
  if (status !== undefined)
    conditions.push(status === 'responded' ? 'm.response is not null' : 'm.response is null')
  if (state === 'responded') conditions.push('m.response is not null')
  else if (state !== undefined) conditions.push('m.response is null and m.state = @state')
  return conditions.join(' and ')
}

const SESSION = `(
  select seq from agent_messaging.sessions where agent_id = @agentId and session_id = @sessionId)`
