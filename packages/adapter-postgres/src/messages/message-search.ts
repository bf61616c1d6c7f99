import type { Message, Page } from '@org/agent-messaging-core'
import {
  matchesFields,
  MOST_TEXT_BYTES,
  searchPath,
  selectList,
  MESSAGE_COLUMNS,
  MESSAGE_SESSION_COLUMNS,
  toMessage,
  toPage,
  type MessageRow,
  type MessageSearch,
  type PageOf,
  type SearchPath,
} from '@org/agent-messaging-core/storage'
import {
  besidePath,
  inScope,
  newestFirst,
  onPath,
  placeOf,
  scopeParameters,
  seqOf,
  startOf,
  type PageStart,
  type SearchDialect,
} from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/gateway.js'
import { dialect } from '../database/operations.js'
import { messageById, selectMessage } from './message-row.js'
import { sql, type Sql } from '../database/sql.js'

type Before = { readonly before: number; readonly beforeAt: number }
type Bounds = Before & { readonly last: number; readonly lastAt: number; readonly rows: number }
type InSession = { readonly sessionSeq: number; readonly position: number }
type Session = InSession & { readonly toSeq: number }
type SessionEnd = { readonly lastSessionSeq: number; readonly lastPosition: number }
type CursorRow = PageStart & InSession
/** What a page reads at most: rows, without the last one, and bytes of texts. */
type Most = { readonly skipped: number; readonly mostBytes: number }

/** The rows that a page looks at, over all agents of the project. */
const MAX_LOOKED_AT = 10_000
const MAX = Number.MAX_SAFE_INTEGER

const countAgentsSql = sql<{ readonly projectId: string }, { readonly agents: number }>(
  'select count(*)::int as agents from agent_messaging.agents where project_id = @projectId',
)
const cursorSql = sql<{ readonly cursor: string }, CursorRow>(`
  select id, seq, created_at as at, session_seq as "sessionSeq", position
  from agent_messaging.messages where id <= @cursor order by id desc limit 1`)

/**
 * `MessageStore.search`. Each path has an index that starts with the agent, so a search reads the
 * newest messages of each agent of the project and merges them.
 */
export async function searchMessages(
  db: Queries,
  asked: MessageSearch,
  page: PageOf,
  lookAt = MAX_LOOKED_AT,
): Promise<Page<Message>> {
  const search = { ...asked, ...scopeParameters(asked.scope) }
  const path = searchPath(search)
  const { cursor, limit } = page
  if (path === 'message') return findOne(db, search, page)
  const row = cursor === undefined ? undefined : await db.one(cursorSql, { cursor })
  if (path === 'session') return searchSession(db, search, page, row, lookAt)
  const start = startOf(cursor, row)
  const end =
    rest(search, path).length > 0 ? await lastOf(db, search, path, start, page, lookAt) : undefined
  const bounds = { ...start, last: end?.seq ?? 0, lastAt: end?.at ?? 0, rows: limit + 1 }
  const rows = await db.all(messageSearchSql(search, path), { ...search, ...bounds })
  const { data, nextCursor } = toPage(rows, limit, toMessage)
  return { data, nextCursor: nextCursor ?? end?.id ?? null }
}

async function findOne(
  db: Queries,
  search: MessageSearch,
  { cursor }: PageOf,
): Promise<Page<Message>> {
  const { messageId = '', text } = search
  if (cursor !== undefined) return { data: [], nextCursor: null }
  const row = await (text === undefined
    ? db.one(messageById, { messageId })
    : db.one(messageWithText, { messageId, text }))
  const message = row && toMessage(row)
  return { data: message && matchesFields(message, search) ? [message] : [], nextCursor: null }
}

/** The newest session first, and in it the newest place. */
async function searchSession(
  db: Queries,
  search: MessageSearch,
  { cursor, limit }: PageOf,
  row: CursorRow | undefined,
  lookAt: number,
): Promise<Page<Message>> {
  const isInPlace = cursor !== undefined && row?.id === cursor
  const bounds = isInPlace
    ? { sessionSeq: row.sessionSeq, position: row.position, toSeq: MAX }
    : { sessionSeq: MAX, position: 0, toSeq: cursor === undefined ? MAX : (row?.seq ?? 0) }
  const given = { ...search, ...bounds, rows: limit + 1 }
  const end =
    rest(search, 'session').length > 0
      ? await db.one(lastInSessionSql(search), {
          ...given,
          skipped: Math.max(limit, lookAt - 1),
          mostBytes: MOST_TEXT_BYTES,
        })
      : undefined
  const last = { lastSessionSeq: end?.sessionSeq ?? 0, lastPosition: end?.position ?? 0 }
  const rows = await db.all(sessionSearchSql(search), { ...given, ...last })
  const { data, nextCursor } = toPage(rows, limit, toMessage)
  return { data, nextCursor: nextCursor ?? end?.id ?? null }
}

/** Returns the place where the page ends, because it looked at its share of an agent's rows. */
async function lastOf(
  db: Queries,
  search: MessageSearch,
  path: SearchPath,
  start: Before,
  { limit }: PageOf,
  lookAt: number,
): Promise<PageStart | undefined> {
  const { agents = 0 } = (await db.one(countAgentsSql, { projectId: search.projectId })) ?? {}
  const share = Math.max(limit + 1, Math.floor(lookAt / Math.max(1, agents)))
  // Few messages run.
  if (path === 'open' && search.state === 'running') return undefined
  const statement = lastSearchedSql(search, path)
  const mostBytes = Math.floor(MOST_TEXT_BYTES / Math.max(1, agents))
  return db.one(statement, { ...search, ...start, skipped: share - 1, mostBytes })
}

const searched: SearchDialect = {
  ...dialect,
  agentId: 'owner.id',
  correlationStart: `strpos(m.metadata, '"correlationId"') > 0
    and "left"(m.metadata::jsonb ->> 'correlationId', 64) = "left"(@correlationId, 64)`,
  correlation: `m.metadata::jsonb ->> 'correlationId' = @correlationId
    and jsonb_typeof(m.metadata::jsonb -> 'correlationId') in ('string', 'number')`,
  hasAnswer: 'm.response is not null',
  zero: '0::bigint',
}

/** The collation C changes the case of ASCII letters only, as every other store does. */
const HAS_TEXT = `(strpos(lower(m.message collate "C"), lower(@text collate "C")) > 0
  or coalesce(strpos(lower(m.response collate "C"), lower(@text collate "C")), 0) > 0)`
const messageWithText = sql<{ readonly messageId: string; readonly text: string }, MessageRow>(
  `${selectMessage} where m.id = @messageId and ${HAS_TEXT}`,
)
/** Reads the lengths of large texts, not the texts. */
const TEXT_BYTES = 'octet_length(m.message) + coalesce(octet_length(m.response), 0) as bytes'

/** Conditions that can reject a row of the path. */
const rest = (search: MessageSearch, path: SearchPath): string[] => [
  ...besidePath(search, path, searched),
  ...(search.text === undefined ? [] : [HAS_TEXT]),
]

/** The tables of the path. The last one has the alias `m`. */
const tableOf = (path: SearchPath): string =>
  path === 'scope'
    ? `agent_messaging.sessions s join agent_messaging.messages m on m.session_seq = s.seq`
    : 'agent_messaging.messages m'
const owners = 'agent_messaging.agents owner'
const isOwner = ({ agentIds }: MessageSearch): string =>
  `owner.project_id = @projectId ${agentIds ? 'and owner.id = any(@agentIds::text[])' : ''}`

/** Finds the newest of the last messages that a page can look at, one of each agent. */
const lastSearchedSql = (
  search: MessageSearch,
  path: SearchPath,
): Sql<MessageSearch & Before & Most, PageStart> => {
  const rows = `from ${tableOf(path)}
    where ${onPath(search, path, searched).join(' and ')} ${path === 'open' ? 'and m.is_idle' : ''} ${newestFirst(path)}`
  const last =
    search.text === undefined
      ? `select ${placeOf(path, searched)} ${rows} limit 1 offset @skipped`
      : lastOfText(`select ${placeOf(path, searched)}, ${TEXT_BYTES} ${rows}`, 'at desc, seq desc')
  return sql(`
    select looked.id, looked.seq, looked.at from ${owners} cross join lateral (${last}) looked
    where ${isOwner(search)} order by looked.at desc, looked.seq desc limit 1`)
}

/** Finds the row at which a page has read its share of rows or of texts. */
const lastOfText = (rows: string, order: string): string => `
  select * from (
    select part.*, row_number() over newest as place, sum(bytes) over newest as read
    from (${rows} limit @skipped + 1) part
    window newest as (order by ${order} rows unbounded preceding)) counted
  where place > @skipped or read >= @mostBytes order by place limit 1`

const columns = `
  ${selectList(MESSAGE_COLUMNS, 'm')}, ${selectList(MESSAGE_SESSION_COLUMNS, 's')},
  owner.project_id as "projectId"`

/** Hides messages of erased sessions, which have another owner. A join would read all sessions. */
const isThere = ({ scope }: MessageSearch): string => `(
  select s.agent_id = owner.id ${scope ? `and ${inScope(scope, dialect)}` : ''}
  from agent_messaging.sessions s where s.seq = m.session_seq)`

/** Finds the places of the newest messages, and then reads only these. */
export function messageSearchSql(
  search: MessageSearch,
  path: SearchPath,
): Sql<MessageSearch & Bounds, MessageRow> {
  const reached =
    path === 'time'
      ? 'm.created_at >= @lastAt and (m.created_at > @lastAt or m.seq >= @last)'
      : `${seqOf(path)} >= @last`
  // The planner would expect that few rows pass, and then read and sort all rows of the path.
  const passes = `case when ${[...rest(search, path), isThere(search)].join(' and ')} then true end`
  const sources =
    path === 'open'
      ? dialect
          .unanswered('owner.id', search.state)
          .map(({ table, condition }) => ({ table: `${table} m`, condition }))
      : [{ table: tableOf(path), condition: 'true' }]
  const places = sources.map(
    ({ table, condition }) => `
        select ${placeOf(path, searched)} from ${table}
        where ${[condition, ...onPath(search, path, searched), reached, passes].join(' and ')}
        ${newestFirst(path)} limit @rows`,
  )
  return sql(`
    with found as materialized (
      select owner.project_id, place.* from ${owners} cross join lateral (
        (${places.join(') union all (')})) place
      where ${isOwner(search)}
      order by place.at desc, place.seq desc limit @rows)
    select ${columns} from found owner
      join agent_messaging.messages m on m.seq = owner.seq
      join agent_messaging.sessions s on s.seq = m.session_seq
    order by owner.at desc, owner.seq desc`)
}

const inSession = (search: MessageSearch): string => `
  from ${owners}
    join agent_messaging.sessions s on s.agent_id = owner.id and s.session_id = @sessionId
    join agent_messaging.messages m on m.session_seq = s.seq
  where ${isOwner(search)} and s.seq <= @sessionSeq
    ${search.scope ? `and ${inScope(search.scope, dialect)}` : ''}
    and (m.session_seq, m.position) < (@sessionSeq, @position) and m.seq <= @toSeq`
const newestInSession = 'order by m.session_seq desc, m.position desc'

function lastInSessionSql(
  search: MessageSearch,
): Sql<MessageSearch & Session & Most, InSession & { readonly id: string }> {
  const columns = 'm.id, m.session_seq as "sessionSeq", m.position'
  const rows = `${inSession(search)} ${newestInSession}`
  return sql(
    search.text === undefined
      ? `select ${columns} ${rows} limit 1 offset @skipped`
      : lastOfText(`select ${columns}, ${TEXT_BYTES} ${rows}`, '"sessionSeq" desc, position desc'),
  )
}

export function sessionSearchSql(
  search: MessageSearch,
): Sql<MessageSearch & Session & SessionEnd & { rows: number }, MessageRow> {
  const reached = '(m.session_seq, m.position) >= (@lastSessionSeq, @lastPosition)'
  return sql(`
    select ${columns} ${inSession(search)} and ${[reached, ...rest(search, 'session')].join(' and ')}
    ${newestInSession} limit @rows`)
}
