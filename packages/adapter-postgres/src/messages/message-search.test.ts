import { unwrap } from '@org/agent-messaging-testing'
import { searchPath, type MessageSearch } from '@org/agent-messaging-core/storage'
import { placesSql } from '@org/agent-messaging-sql-kit'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { createGateway } from '../database/gateway.js'
import { openPostgresStorage } from '../index.js'
import { perform } from '../database/operations.js'
import { sql } from '../database/sql.js'
import { searched, searchMessages } from './message-search.js'

let postgres: TestPostgres
let pool: pg.Pool
beforeAll(async () => {
  postgres = await testPostgres()
  pool = await postgres.pool()
  await openPostgresStorage({ pool })
  await pool.query(`
    insert into agent_messaging.agents (id, project_id, name, default_principal, runtime_kind, runtime_options, desired_state, state,
        concurrency, max_attempts, max_queued, created_at, updated_at)
      select 'a' || n, case when n < 3 then 'p' else 'other' end, n, '', '', '', '', '', 1, 1, 1, 0, 0 from generate_series(1, 3) n`)
})
afterAll(async () => {
  await pool.end()
  await postgres.close()
})

/** Messages of two agents and of another project. Each hundredth has failed. */
const fill = (from: number, to: number): string => `
  with made as (
    insert into agent_messaging.sessions (agent_id, session_id, last_position, head_position, open_count, lease, last_message_id, last_message_at)
      select 'a' || 1 + n % 3, 's' || n / 30, 10, 11, 0, 1, n, n from generate_series(${from}, ${to}) n
      on conflict do nothing)
  select 1;
  insert into agent_messaging.messages (id, agent_id, session_seq, position, message, metadata, principal, attempt, state, response, finished_at, created_at, open_until)
    select lpad(n::text, 9, '0'), s.agent_id, s.seq, n, 'hi', json_build_object('correlationId', 'c' || n / 3),
      json_build_object('type', 'end_user', 'endUserId', 'u' || n % 100), 1,
      case when n % 100 = 0 then 'failed' else 'responded' end, case when n % 100 > 0 then 'hi' end, n, n, n
    from generate_series(${from}, ${to}) n
      join agent_messaging.sessions s on s.agent_id = 'a' || 1 + n % 3 and s.session_id = 's' || n / 30;
  analyze`

const SEARCHES: readonly Partial<MessageSearch>[] = [
  {},
  { sessionId: 's7' },
  { endUserId: 'u7' },
  { correlationId: 'c7' },
  { state: 'failed' },
  { status: 'responded' },
  { createdAfter: 100 },
  { createdBefore: 900 },
]
const FEW = 3_000
const MANY = 60_000
/** A descent of a larger index reads one page more. A statement descends for each message. */
const MOST_GROWTH = 1.5

it('a search reads no more pages of 60,000 messages than of 3,000', async () => {
  await pool.query(fill(1, FEW))
  const few = await pagesOfSearches()
  await pool.query(fill(FEW + 1, MANY))
  const many = await pagesOfSearches()
  const grown = [...many].filter(([of, pages]) => pages > MOST_GROWTH * (few.get(of) ?? 0) + 10)
  expect(grown).toEqual([])
})

it('a page looks at a bounded number of messages, and the next page continues after them', async () => {
  const gateway = createGateway(pool, true)
  const search = {
    projectId: 'p',
    status: 'responded',
    createdBefore: 50,
    endUserId: 'u7',
  } as const
  const inSession = { projectId: 'p', sessionId: 's7', createdBefore: 215 } as const
  const text = 'HI'
  for (const [one, lookAt, found] of [
    [search, 400, ['000000007']],
    [{ ...search, text }, 400, ['000000007']],
    [{ ...inSession, text }, 4, ['000000210', '000000211', '000000213', '000000214']],
    [inSession, 4, ['000000210', '000000211', '000000213', '000000214']],
  ] as const) {
    const pages: string[][] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page = { limit: 2, ...(cursor !== undefined && { cursor }) }
      const result = await gateway.read((db) => perform(db, searchMessages, one, page, lookAt))
      const { data, nextCursor } = unwrap(result)
      pages.push(data.map(({ id }) => id))
      cursor = nextCursor
    }
    expect(pages.flat().toSorted()).toEqual(found.toSorted())
    expect(pages.length).toBeGreaterThan(found.length / 2)
  }
})

it('a page looks at as many messages if the project has a hundred agents without messages', async () => {
  await pool.query(`
    insert into agent_messaging.agents (id, project_id, name, default_principal, runtime_kind, runtime_options, desired_state, state,
        concurrency, max_attempts, max_queued, created_at, updated_at)
      select 'b' || n, 'p', 'b' || n, '', '', '', '', '', 1, 1, 1, 0, 0 from generate_series(1, 100) n`)
  const search = { projectId: 'p', text: 'nothing' }
  const found = await createGateway(pool, true).read((db) =>
    perform(db, searchMessages, search, { limit: 2 }, 100),
  )
  // Each third message belongs to another project.
  expect(MANY - (unwrap(found).lookedBackTo ?? MANY)).toBe(149)
})

async function pagesOfSearches(): Promise<Map<string, number>> {
  const pages = new Map<string, number>()
  for (const one of SEARCHES) {
    const search = { projectId: 'p', ...one }
    const path = searchPath(search)
    const statement = sql(placesSql(search, path, searched))
    const ALL = Number.MAX_SAFE_INTEGER
    const ofPath = path === 'session' ? [1, 2] : ['a1', 'a2']
    const sources = ofPath.map((source) => ({ source, before: ALL, beforeAt: ALL }))
    const bounds = { sources: JSON.stringify(sources), toSeq: ALL, rows: 11 }
    const given: Record<string, unknown> = { ...search, ...bounds }
    const { rows } = await pool.query<{ 'QUERY PLAN': readonly [{ Plan: Buffers }] }>({
      text: `explain (analyze, buffers, format json) ${statement.text}`,
      values: statement.names.map((name) => given[name]),
    })
    const plan = rows[0]?.['QUERY PLAN'][0].Plan
    pages.set(
      JSON.stringify(one),
      (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0),
    )
  }
  return pages
}

type Buffers = { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number }
