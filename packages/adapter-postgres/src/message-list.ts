import type { Message, MessageFilter, Page, PageOf } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { selectMessage, toMessage, type MessageRow } from './message-row.js'
import { toPage } from './page.js'
import { sql } from './sql.js'

/** Where a page may have its rows, both ends included. */
type Bounds = {
  readonly fromSeq: number
  readonly toSeq: number
  readonly fromPosition: number
  readonly toPosition: number
}
type Place = {
  readonly id: string
  readonly seq: number
  readonly position: number
  readonly sessionId: string
}

const EVERYWHERE: Bounds = {
  fromSeq: 0,
  toSeq: Number.MAX_SAFE_INTEGER,
  fromPosition: 0,
  toPosition: Number.MAX_SAFE_INTEGER,
}

const placeSql = sql<{ readonly cursor: string }, Place>(`
  select m.id, m.seq, m.position, s.session_id as "sessionId"
  from agent_messaging.messages m join agent_messaging.sessions s on s.seq = m.session_seq
  where m.id <= @cursor order by m.id desc limit 1`)

/** `MessageStore.list`. Filters but for `responded` read the messages without an answer only, which are few among many. */
export async function listMessages(
  db: Queries,
  filter: MessageFilter,
  page: PageOf,
): Promise<Page<Message>> {
  const { cursor } = page
  const bounds =
    cursor === undefined
      ? EVERYWHERE
      : boundsBehind(cursor, await db.one(placeSql, { cursor }), filter)
  const statement = sql<MessageFilter & Bounds & { readonly rows: number }, MessageRow>(
    messageListSql(filter),
  )
  return toPage(
    await db.all(statement, { ...filter, ...bounds, rows: page.limit + 1 }),
    page.limit,
    toMessage,
  )
}

/** A cursor whose row is gone stands where its id, a UUIDv7, would be. Within a session a retried message has a newer place than its id. */
function boundsBehind(
  cursor: string,
  place: Place | undefined,
  { sessionId, order }: MessageFilter,
): Bounds {
  if (place?.id === cursor && place.sessionId === sessionId) {
    return order === 'asc'
      ? { ...EVERYWHERE, fromPosition: place.position + 1 }
      : { ...EVERYWHERE, toPosition: place.position - 1 }
  }
  const seq = place?.seq ?? 0
  return order === 'asc'
    ? { ...EVERYWHERE, fromSeq: seq + 1 }
    : { ...EVERYWHERE, toSeq: place?.id === cursor ? seq - 1 : seq }
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
