import type { Database } from 'better-sqlite3'
import type { Message, MessageFilter, Page, PageOf } from '@org/agent-messaging-core/storage'
import { selectMessage, toMessage, type MessageRow } from './message-row.js'
import { toPage } from './page.js'
import { atMost, preparedOnce } from './statements.js'

/** The bounds of a page's rows, inclusive. */
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

/** `MessageStore.list`. A filter for a state other than `responded` reads only the few messages without an answer. */
export function messageList(db: Database): (filter: MessageFilter, page: PageOf) => Page<Message> {
  const placeOf = db.prepare<[string], Place>(`
    select m.id, m.seq, m.position, s.session_id as sessionId
    from messages m join sessions s on s.seq = m.session_seq where m.id <= ? order by m.id desc limit 1`)
  const prepared = preparedOnce<MessageFilter & Bounds & { rows: number }, MessageRow>(db)
  return (filter, page) => {
    const bounds =
      page.cursor === undefined
        ? EVERYWHERE
        : boundsBehind(page.cursor, placeOf.get(page.cursor), filter)
    const rows = prepared(messageListSql(filter)).all({
      ...filter,
      ...bounds,
      rows: page.limit + 1,
    })
    return toPage(rows, page.limit, toMessage)
  }
}

/** A cursor whose message was deleted counts by its id, a UUIDv7. In a session, a retried message has a newer position than its id. */
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
