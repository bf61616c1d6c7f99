import type { Database } from 'better-sqlite3'
import type { Message, Page } from '@org/agent-messaging-core'
import {
  isInScope,
  matchesFields,
  searchPath,
  toMessage,
  toPage,
  type MessageRow,
  type MessageSearch,
  type PageOf,
  type SearchPath,
} from '@org/agent-messaging-core/storage'
import {
  besidePath,
  newestFirst,
  onPath,
  placeOf,
  scopeParameters,
  seqOf,
  startOf,
  type PageStart,
  type SearchDialect,
} from '@org/agent-messaging-sql-kit'
import { messageById, selectMessage } from './message-row.js'
import { dialect } from '../database/operations.js'
import { atMost, preparedOnce } from '../database/statements.js'

type Bounds = {
  readonly agentId: string
  readonly before: number
  readonly beforeAt: number
  readonly last: number
  readonly lastAt: number
}
type CursorRow = {
  readonly id: string
  readonly seq: number
  readonly at: number
  readonly sessionSeq: number
  readonly position: number
}
/** The most that a page reads: rows, and bytes of texts. */
type Most = { readonly rows: number; readonly bytes: number }
type MostOfAgent = { readonly mostRead: number; readonly mostBytes: number }
type SessionBounds = {
  readonly sessionSeq: number
  readonly fromPosition: number
  readonly toPosition: number
  readonly toSeq: number
}

/** The rows that a page reads at most, over all agents of the project. */
export const MOST_READ = 10_000
const MAX = Number.MAX_SAFE_INTEGER

/** The places that a page can have, newest first, and the last row that it reached. */
type Found = { readonly places: readonly PageStart[]; readonly endId: string | null }
/** `rows`: how many it read at most. */
type Reached = Found & { readonly rows: number }
export type Searcher = {
  /** Finds the messages that match in everything except the text. */
  readonly reach: (search: MessageSearch, page: PageOf, most: Most) => Reached
  readonly pageOf: (found: Found, limit: number) => Page<Message>
}

/**
 * Finds messages. Each path has an index that starts with the agent, so a search reads the agents
 * of the project one by one and merges their messages.
 */
export function messageSearch(db: Database): Searcher {
  const byId = messageById(db)
  const bySeq = db.prepare<[number], MessageRow>(`${selectMessage} where m.seq = +?`)
  const agentsOf = db
    .prepare<[string], string>('select id from agents where project_id = ?')
    .pluck()
  const cursorOf = db.prepare<[string], CursorRow>(
    'select id, seq, created_at as at, session_seq as sessionSeq, position from messages where id <= ? order by id desc limit 1',
  )
  const places = preparedOnce<MessageSearch & Bounds & { rows: number }, PageStart>(db)
  const lasts = preparedOnce<MessageSearch & Bounds & MostOfAgent, PageStart>(db)

  function pageOf({ places: found, endId }: Found, limit: number): Page<Message> {
    const { data, nextCursor } = toPage(found, limit, (place) => place)
    return {
      data: data.flatMap(({ seq }) => bySeq.get(seq) ?? []).map(toMessage),
      nextCursor: nextCursor ?? endId,
    }
  }

  function one(search: MessageSearch, { cursor }: PageOf): Reached {
    const row = cursor === undefined ? byId(search.messageId ?? '') : undefined
    const isFound = row !== undefined && matchesFields(toMessage(row), search)
    return { places: isFound ? [{ id: row.id, seq: row.seq, at: 0 }] : [], endId: null, rows: 1 }
  }

  const ofSession = sessionSearch(db)

  function reach(search: MessageSearch, page: PageOf, most: Most): Reached {
    const path = searchPath(search)
    if (path === 'message') return one(search, page)
    const { limit, cursor } = page
    const row = cursor === undefined ? undefined : cursorOf.get(cursor)
    if (path === 'session') return ofSession(search, page, most, row)
    const start = startOf(cursor, row)
    const agents = agentsOf
      .all(search.projectId)
      .filter((id) => search.agentIds?.includes(id) ?? true)
    const share = Math.max(limit + 1, Math.floor(most.rows / Math.max(1, agents.length)))
    const found: PageStart[] = []
    let end: PageStart | undefined
    for (const agentId of agents) {
      const bounds = {
        ...search,
        ...scopeOf(search),
        ...start,
        agentId,
        last: 0,
        lastAt: 0,
      }
      const last = isRejecting(search, path)
        ? lasts(lastSearchedSql(search, path)).get({
            ...bounds,
            mostRead: share,
            mostBytes: Math.floor(most.bytes / agents.length),
          })
        : undefined
      if (last && (!end || isNewer(last, end))) end = last
      const rows = rowsOf(search, limit + 1)
      const reached = { last: last?.seq ?? 0, lastAt: last?.at ?? 0, rows }
      found.push(...places(messageSearchSql(search, path)).all({ ...bounds, ...reached }))
    }
    const inOrder = found
      .filter((place) => !end || !isNewer(end, place))
      .sort((a, b) => (isNewer(a, b) ? -1 : 1))
    return {
      places: inOrder.slice(0, rowsOf(search, limit + 1)),
      endId: end?.id ?? null,
      rows: share * agents.length,
    }
  }

  return { reach, pageOf }
}

/** A search for a text can reject each row, so it reads up to the last one. */
const rowsOf = ({ text }: MessageSearch, rows: number): number => (text === undefined ? rows : MAX)

/** Finds the places of messages of a session: the newest session first, in it the newest place. */
function sessionSearch(
  db: Database,
): (search: MessageSearch, page: PageOf, most: Most, row: CursorRow | undefined) => Reached {
  const sessionsOf = db.prepare<
    [string, string],
    { readonly seq: number; readonly agentId: string }
  >(
    'select s.seq, a.id as agentId from agents a join sessions s on s.agent_id = a.id and s.session_id = ? where a.project_id = ?',
  )
  const inSession = preparedOnce<MessageSearch & SessionBounds & { rows: number }, PageStart>(db)
  const lastInSession = preparedOnce<
    Omit<SessionBounds, 'fromPosition'> & MostOfAgent,
    { readonly id: string; readonly position: number }
  >(db)
  return (search, { limit, cursor }, most, row) => {
    const { sessionId = '', projectId, agentIds, scope } = search
    const sessions = sessionsOf
      .all(sessionId, projectId)
      .filter(({ agentId }) => agentIds?.includes(agentId) ?? true)
      .filter(() => scope === undefined || isInScope(scope, sessionId))
      .map(({ seq }) => seq)
    const isInPlace = row?.id === cursor && sessions.includes(row?.sessionSeq ?? 0)
    const toSeq = cursor === undefined || isInPlace ? MAX : (row?.seq ?? 0)
    const share = Math.max(limit + 1, Math.floor(most.rows / Math.max(1, sessions.length)))
    const found: PageStart[] = []
    let endId: string | undefined
    for (const sessionSeq of sessions.toSorted((a, b) => b - a)) {
      if (isInPlace && row && sessionSeq > row.sessionSeq) continue
      const isFirst = isInPlace && sessionSeq === row?.sessionSeq
      const toPosition = isFirst ? row.position - 1 : MAX
      const bounds = { sessionSeq, toPosition, toSeq }
      const shares = { mostRead: share, mostBytes: Math.floor(most.bytes / sessions.length) }
      const last = isRejecting(search, 'session')
        ? lastInSession(lastInSessionSql(search)).get({ ...bounds, ...shares })
        : undefined
      const rows = rowsOf(search, limit + 1 - found.length)
      const reach = { fromPosition: last?.position ?? 0, rows }
      found.push(...inSession(sessionSearchSql(search)).all({ ...search, ...bounds, ...reach }))
      endId = last?.id
      if (last || found.length > rowsOf(search, limit)) break
    }
    return { places: found, endId: endId ?? null, rows: share * sessions.length }
  }
}

/** A list is a parameter as JSON. */
const scopeOf = ({ scope }: MessageSearch): object =>
  scope && 'ids' in scope ? { scopeIds: JSON.stringify(scope.ids) } : scopeParameters(scope)

const isNewer = (a: PageStart, b: PageStart): boolean =>
  a.at > b.at || (a.at === b.at && a.seq > b.seq)

const INDEX: Readonly<Record<Exclude<SearchPath, 'message' | 'session' | 'scope'>, string>> = {
  correlation: 'messages_correlation',
  end_user: 'messages_end_user',
  asking: 'messages_asking',
  open: 'messages_unanswered',
  time: 'messages_created',
  all: 'messages_agent',
}

const searched: SearchDialect = {
  ...dialect,
  agentId: '@agentId',
  correlationStart: `instr(m.metadata, '"correlationId"') > 0
    and substr(m.metadata ->> 'correlationId', 1, 64) = substr(@correlationId, 1, 64)`,
  correlation: `json_type(m.metadata, '$.correlationId') in ('text', 'integer', 'real')
    and cast(m.metadata ->> 'correlationId' as text) = @correlationId`,
  hasAnswer: "m.state = 'responded'",
  zero: '0',
}

/** The lengths are in the rows' headers, so this reads no text. */
const TEXT_BYTES = 'octet_length(m.message) + ifnull(octet_length(m.response), 0) as bytes'

function onSearchedPath(search: MessageSearch, path: SearchPath): string {
  const open = path === 'open' ? ["m.state <> 'responded'"] : []
  return [...onPath(search, path, searched), ...open].join(' and ')
}

/** True if the search can reject a row of the path. */
const isRejecting = (search: MessageSearch, path: SearchPath): boolean =>
  search.text !== undefined || rest(search, path).length > 0

/** Conditions that can reject a row of the path. The text is not one: `searchInSteps`. */
const rest = (search: MessageSearch, path: SearchPath): string[] =>
  besidePath(search, path, searched)

const rowsFrom = (path: SearchPath): string =>
  path === 'scope'
    ? 'from sessions s cross join messages m on m.session_seq = s.seq'
    : `from messages m indexed by ${INDEX[path as keyof typeof INDEX]}`

/** Finds the last message of an agent that a page can read, if there are that many. */
export function lastSearchedSql(search: MessageSearch, path: SearchPath): string {
  const rows = `${rowsFrom(path)}
    where ${onSearchedPath(search, path)} ${newestFirst(path)}`
  return search.text === undefined
    ? `select ${placeOf(path, searched)} ${rows} limit 1 offset @mostRead - 1`
    : lastOfText(`select ${placeOf(path, searched)}, ${TEXT_BYTES} ${rows}`, 'at desc, seq desc')
}

/** Finds the row at which a page has read its share of rows or of texts. */
const lastOfText = (rows: string, order: string): string => `
  select * from (
    select *, row_number() over newest as place, sum(bytes) over newest as read
    from (${rows} ${atMost('@mostRead')})
    window newest as (order by ${order} rows unbounded preceding))
  where place = @mostRead or read >= @mostBytes order by place limit 1`

/** Erased sessions have another owner. */
const OF_AGENT = 'cross join sessions s on s.seq = m.session_seq and s.agent_id = @agentId'

/** Finds an agent's messages. */
export function messageSearchSql(search: MessageSearch, path: SearchPath): string {
  const reached =
    path === 'time'
      ? '(m.created_at > @lastAt or (m.created_at = @lastAt and m.seq >= @last))'
      : `${seqOf(path)} >= @last`
  const conditions = [onSearchedPath(search, path), reached, ...rest(search, path)]
  return `
    select ${placeOf(path, searched)} ${rowsFrom(path)}
      ${path === 'scope' ? '' : OF_AGENT}
    where ${conditions.join(' and ')} ${newestFirst(path)} ${atMost('@rows')}`
}

function lastInSessionSql(search: MessageSearch): string {
  const rows = `from messages m
    where m.session_seq = @sessionSeq and m.position <= @toPosition and +m.seq <= @toSeq
    order by m.position desc`
  return search.text === undefined
    ? `select m.id, m.position ${rows} limit 1 offset @mostRead - 1`
    : lastOfText(`select m.id, m.position, ${TEXT_BYTES} ${rows}`, 'position desc')
}

export function sessionSearchSql(search: MessageSearch): string {
  const places =
    'm.session_seq = @sessionSeq and m.position between @fromPosition and @toPosition and +m.seq <= @toSeq'
  return `
    select m.id, m.seq, 0 as at from messages m
    where ${[places, ...rest(search, 'session')].join(' and ')}
    order by m.position desc ${atMost('@rows')}`
}
