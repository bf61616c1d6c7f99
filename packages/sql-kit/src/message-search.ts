import type { Instant, Message, Page } from '@org/agent-messaging-core'
import {
  matchesFields,
  MOST_TEXT_BYTES,
  searchPath,
  toMessage,
  type MessageSearch,
  type PageOf,
  type SearchPath,
} from '@org/agent-messaging-core/storage'
import { atMost, type Dialect, type MessageSource } from './dialect.js'
import { messagesById } from './message-lists.js'
import { all, one, sql, type Operation, type Sql } from './operation.js'
import { inScope, scopeParameters } from './session-scope.js'

/** What the databases write in different ways. */
export type SearchDialect = Dialect & {
  /** The agent whose messages are read, or the session on the path `session`. */
  readonly source: string
  /** The place before which the rows of the source are. */
  readonly before: string
  readonly beforeAt: string
  /** The condition of the index on the first characters of correlation ids. */
  readonly correlationStart: string
  /** The condition that the correlation id is the parameter. */
  readonly correlation: string
  readonly hasAnswer: string
  /** The tables of the path. The last one has the alias `m`, and a scope's sessions are `s`. */
  readonly tables: (path: SearchPath, search: MessageSearch) => readonly MessageSource[]
  /** Reads the places of each source, if one statement reads them all. */
  readonly eachSource: (places: string, path: SearchPath) => string
}

/** The rows of an agent, or of a session, before a place. */
export type Source = {
  readonly source: string | number
  readonly before: number
  readonly beforeAt: number
}
/** A message that a search reaches. `at` orders before `seq`. */
export type Place = {
  readonly id: string
  readonly seq: number
  readonly at: number
  readonly createdAt: Instant
  /** Bytes of its texts. */
  readonly bytes: number
  /** 1 if the message matches in everything except the text. */
  readonly fits: number
}

/** How a store reads the rows of a search. */
export type Look = {
  readonly dialect: SearchDialect
  /** The most rows of a source that one statement reads. */
  readonly mostRows: number
  /** Reads rows of each source, newest first. The statement is of `placesSql`. */
  readonly read: (
    sources: readonly Source[],
    statement: Sql<object, Place>,
    parameters: { readonly rows: number },
  ) => Operation<readonly (readonly Place[])[]>
  /** Returns the places of messages with the text, in their order. Can stop at `limit`. */
  readonly withText: (
    places: readonly Place[],
    text: string,
    limit: number,
  ) => Operation<readonly Place[]>
}

/** The most rows that a page looks at, over all agents of the project. */
const MOST_ROWS = 10_000
/** The first rows that a search reads of each of many sources. */
const FEW_ROWS = 8
/** The most bytes of texts that a step looks at. */
const STEP_BYTES = 512 * 1024
const STEP_ROWS = 500
const MAX = Number.MAX_SAFE_INTEGER

type CursorRow = {
  readonly id: string
  readonly seq: number
  readonly at: number
  readonly sessionSeq: number
  readonly position: number
}
const cursorRow = sql<{ readonly cursor: string }, CursorRow>(
  ({ schema }) => `
    select id, seq, created_at as at, session_seq as "sessionSeq", position
    from ${schema}messages where id <= @cursor order by id desc limit 1`,
)

/** `MessageStore.search`. */
export function* searchMessages(
  look: Look,
  search: MessageSearch,
  { limit, cursor }: PageOf,
  mostRows = MOST_ROWS,
): Operation<Page<Message>> {
  const path = searchPath(search)
  const given = { ...search, ...scopeParameters(search.scope) }
  const isAlone = path === 'message' && cursor === undefined
  const start = path === 'message' ? NOTHING : yield* startOf(given, path, cursor)
  const merge = new Merge(
    isAlone ? [{ ...ALONE, id: search.messageId ?? '' }] : [],
    start.sources,
    mostRows,
  )
  const text = placesSql(search, path, look.dialect)
  const statement = (): string => text
  let rows = Math.max(FEW_ROWS, Math.ceil((2 * (limit + 1)) / Math.max(1, start.sources.length)))
  const found: Place[] = []
  while (found.length <= limit && !merge.isDone) {
    const wanted = merge.wanted()
    if (wanted.length > 0) {
      const most = Math.min(rows, look.mostRows, merge.shareOf(wanted.length))
      const parameters = { ...given, toSeq: start.toSeq, rows: most }
      const sources = wanted.flatMap(({ next }) => next ?? [])
      const read = yield* look.read(sources, statement, parameters)
      for (const [at, reader] of wanted.entries()) addTo(reader, read[at] ?? [], most)
      rows *= 2
    }
    const fitting = merge.take().filter(({ fits }) => fits === 1)
    found.push(
      ...(search.text === undefined
        ? fitting
        : yield* look.withText(fitting, search.text, limit + 1 - found.length)),
    )
  }
  const end = found.length > limit ? found[limit - 1] : merge.hasMore ? merge.looked : undefined
  const ids = found.slice(0, limit).map(({ id }) => id)
  const messages = new Map((yield* all(messagesById, { ids })).map((row) => [row.id, row]))
  return {
    // Between two statements, a message can change or be erased.
    data: ids
      .flatMap((id) => messages.get(id) ?? [])
      .map(toMessage)
      .filter((message) => matchesFields(message, search)),
    nextCursor: end?.id ?? null,
    ...(end && { lookedBackTo: end.createdAt }),
  }
}

const NOTHING: Start = { sources: [], toSeq: 0 }
const ALONE = { seq: 0, at: 0, createdAt: 0, bytes: 0, fits: 1 }

/** The rows of a source. */
type Reader = {
  /** Undefined if no more rows can be read. */
  next: Source | undefined
  /** Rows that were read and not taken. */
  readonly waiting: Place[]
  /** How many rows the last statement could read. */
  read: number
}

/**
 * Merges the rows of sources, newest first. The bounds of a page hold for all sources together.
 */
class Merge {
  /** The last place that the search looked at. */
  looked: Place | undefined
  #readers: readonly Reader[] = []
  /** Rows in the order of the page. */
  #ready: Place[]
  #rows: number
  #bytes = MOST_TEXT_BYTES

  constructor(ready: Place[], sources: readonly Source[], rows: number) {
    this.#ready = ready
    this.#readers = sources.map((next) => ({ next, waiting: [], read: 0 }))
    this.#rows = rows
  }

  get hasMore(): boolean {
    return this.#ready.length > 0 || this.#readers.some((one) => one.next || one.waiting.length > 0)
  }

  get isDone(): boolean {
    return this.#rows <= 0 || this.#bytes <= 0 || !this.hasMore
  }

  /** The rows to read of each source: together about twice the rows that the page can look at. */
  shareOf(sources: number): number {
    return Math.max(FEW_ROWS, Math.ceil((2 * this.#rows) / sources))
  }

  /** Returns the sources to read, once one of them has no row left to compare. */
  wanted(): Reader[] {
    const open = this.#readers.filter(({ next }) => next)
    if (this.#ready.length > 0 || open.every(({ waiting }) => waiting.length > 0)) return []
    return open.filter(({ waiting, read }) => waiting.length <= read / 2)
  }

  /** Takes the next places to look at. */
  take(): Place[] {
    if (this.#ready.length === 0) this.#makeReady()
    const [rows, most] = [Math.min(STEP_ROWS, this.#rows), Math.min(STEP_BYTES, this.#bytes)]
    let bytes = 0
    const end = this.#ready.findIndex((place, at) => {
      if (at >= rows || bytes >= most) return true
      bytes += place.fits === 1 ? place.bytes : 0
      return false
    })
    const taken = this.#ready.splice(0, end === -1 ? this.#ready.length : end)
    this.#rows -= taken.length
    this.#bytes -= bytes
    this.looked = taken.at(-1) ?? this.looked
    return taken
  }

  /** A row that was not read can be newer than the rows before the newest end. */
  #makeReady(): void {
    const ends = this.#readers.flatMap(({ next, waiting }) => (next && waiting.at(-1)) ?? [])
    const end = ends.toSorted(byAge)[0]
    for (const { waiting } of this.#readers) {
      const older = end ? waiting.findIndex((place) => byAge(end, place) < 0) : -1
      this.#ready.push(...waiting.splice(0, older === -1 ? waiting.length : older))
    }
    this.#ready.sort(byAge)
  }
}

/** The newest first. */
const byAge = (a: Place, b: Place): number => b.at - a.at || b.seq - a.seq

function addTo(reader: Reader, rows: readonly Place[], most: number): void {
  const last = rows.at(-1)
  reader.waiting.push(...rows)
  reader.read = most
  reader.next =
    reader.next && last && rows.length >= most
      ? { ...reader.next, before: last.seq, beforeAt: last.at }
      : undefined
}

type Start = {
  readonly sources: readonly Source[]
  /** The newest message of a session that the page can have, unless its place says so. */
  readonly toSeq: number
}

/** Finds the sources, and the places before which the rows of the page are. */
function* startOf(search: MessageSearch, path: SearchPath, cursor?: string): Operation<Start> {
  const row = cursor === undefined ? undefined : yield* one(cursorRow, { cursor })
  const sources = (yield* all(sourcesSql(search), search)).map(({ source }) => source)
  const toSeq = cursor === undefined ? MAX : (row?.seq ?? 0)
  if (path !== 'session') {
    const before = toSeq + Number(row !== undefined && row.id !== cursor)
    const beforeAt = cursor === undefined ? MAX : (row?.at ?? 0)
    return { sources: sources.map((source) => ({ source, before, beforeAt })), toSeq }
  }
  // The newest session first, and in it the newest place.
  const last = row && row.id === cursor && sources.includes(row.sessionSeq) ? row : undefined
  const before = (source: Source['source']) => (source === last?.sessionSeq ? last.position : MAX)
  return {
    toSeq: last ? MAX : toSeq,
    sources: sources
      .filter((source) => !last || Number(source) <= last.sessionSeq)
      .map((source) => ({ source, before: before(source), beforeAt: MAX })),
  }
}

const sourcesSql =
  ({ sessionId, agentIds, scope }: MessageSearch): Sql<object, Pick<Source, 'source'>> =>
  (d) =>
    `
    select ${sessionId === undefined ? 'a.id' : 's.seq'} as source from ${d.schema}agents a
      ${sessionId === undefined ? '' : `join ${d.schema}sessions s on s.agent_id = a.id and s.session_id = @sessionId`}
    where a.project_id = @projectId ${agentIds ? `and ${d.oneOf('a.id', 'agentIds')}` : ''}
      ${sessionId !== undefined && scope ? `and ${inScope(scope, d)}` : ''}`

/** Reads the newest rows of a source on the path. */
export function placesSql(search: MessageSearch, path: SearchPath, d: SearchDialect): string {
  const [at, seq] = ORDERS[path] ?? ['0', 'm.seq']
  const fits = besidePath(search, path, d)
  const bytes = search.text === undefined ? '0' : TEXT_BYTES
  const order = at === 'm.created_at' ? `${at} desc, ${seq} desc` : `${seq} desc`
  const newest = `order by ${order} ${atMost('@rows')}`
  const places = d.tables(path, search).map(({ table, condition }) => {
    const rows = `${table} where ${[condition, ...onPath(search, path, d)].join(' and ')}`
    // A scope sorts all its rows. So it sorts them before it reads their other columns.
    const from =
      path === 'scope'
        ? `(select m.seq from ${rows} ${newest}) place ${d.join} ${d.schema}messages m on m.seq = place.seq`
        : rows
    return `
      select m.id, ${seq} as seq, ${at} as at, m.created_at as "createdAt", ${bytes} as bytes,
        ${fits.length === 0 ? '1' : `case when ${fits.join(' and ')} then 1 else 0 end`} as fits
      from ${from} ${newest}`
  })
  return d.eachSource(
    places.length === 1
      ? places.join('')
      : `select * from ((${places.join(') union all (')})) place
        order by at desc, seq desc ${atMost('@rows')}`,
    path,
  )
}

/** What orders the rows, unless it is only `seq`. The sum keeps the planner from all messages. */
const ORDERS: Partial<Record<SearchPath, readonly [at: string, seq: string]>> = {
  time: ['m.created_at', 'm.seq'],
  session: ['m.session_seq', 'm.position'],
  scope: ['0', 'm.seq + 0'],
}

/** The lengths are beside the texts, so this reads no text. */
const TEXT_BYTES = 'octet_length(m.message) + coalesce(octet_length(m.response), 0)'

/** The path's condition. It is exactly what the path's index serves. */
function onPath(search: MessageSearch, path: SearchPath, d: SearchDialect): string[] {
  const { scope } = search
  if (path === 'session')
    return [
      `m.session_seq = ${d.source}`,
      `m.position < ${d.before}`,
      `${d.plain('m.seq')} <= @toSeq`,
    ]
  if (path === 'scope' && scope)
    return [`s.agent_id = ${d.source}`, inScope(scope, d), `m.seq + 0 < ${d.before}`]
  const conditions = [`m.agent_id = ${d.source}`]
  if (path === 'correlation') conditions.push(d.correlationStart)
  if (path === 'end_user') conditions.push(isEndUser(d))
  if (path === 'asking') conditions.push('m.input_due_at is not null')
  if (path !== 'time') return [...conditions, `m.seq < ${d.before}`]
  const before = `m.created_at <= ${d.beforeAt}
    and (m.created_at < ${d.beforeAt} or m.seq < ${d.before})`
  return [...conditions, ...inTime(search), before]
}

/** Conditions that can reject a row of the path, except the text. */
function besidePath(search: MessageSearch, path: SearchPath, d: SearchDialect): string[] {
  const { endUserId, correlationId, status, state } = search
  const conditions: string[] = []
  // Erased sessions have another owner. A join would read all sessions.
  if (path !== 'session' && path !== 'scope')
    conditions.push(
      `(select s.agent_id from ${d.schema}sessions s where s.seq = m.session_seq) = ${d.source}`,
    )
  if (correlationId !== undefined) conditions.push(d.correlation)
  if (endUserId !== undefined && path !== 'end_user') conditions.push(isEndUser(d))
  if (status !== undefined)
    conditions.push(status === 'responded' ? d.hasAnswer : `not (${d.hasAnswer})`)
  if (state !== undefined) conditions.push(state === 'responded' ? d.hasAnswer : 'm.state = @state')
  return path === 'time' ? conditions : [...conditions, ...inTime(search)]
}

const isEndUser = ({ hasEndUser, endUser }: SearchDialect): string =>
  `${hasEndUser} and ${endUser} = @endUserId`

const inTime = ({ createdAfter, createdBefore }: MessageSearch): string[] => [
  ...(createdAfter === undefined ? [] : ['m.created_at >= @createdAfter']),
  ...(createdBefore === undefined ? [] : ['m.created_at < @createdBefore']),
]
