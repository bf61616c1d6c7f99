import {
  searchPath,
  type MessageFilter,
  type MessageSearch,
  type RedeliverFilter,
} from '@org/agent-messaging-core/storage'
import {
  askingSql,
  countedRecovery,
  deliveryListSql as deliveryList,
  messageListSql as messageList,
  failedMessages,
  failuresOf,
  openCounts,
  finishedDeliveries,
  finishedMessages,
  newestEvents,
  oldestEvents,
  oldEvents,
  peopleSql,
  placesSql,
  positionAtSql,
  principalDeliveries,
  principalEvents,
  principalMessages,
  unsettledRecoveries,
} from '@org/agent-messaging-sql-kit'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openPostgresStorage } from '../index.js'
import { messageById } from '../messages/message-row.js'
import { searched } from '../messages/message-search.js'
import { loggedEventsSql, newEventsSql } from '../events/event-store.js'
import { dialect } from './operations.js'
import { sql, type Sql } from './sql.js'

// With many final rows and current statistics, no frequent statement scans a table.

let postgres: TestPostgres
let client: pg.Client
beforeAll(async () => {
  postgres = await testPostgres()
  const connectionString = await postgres.database()
  await (await openPostgresStorage({ connectionString })).close()
  client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(FILL)
})
afterAll(async () => {
  await client.end()
  await postgres.close()
})

const messageListSql = (search: MessageFilter): Sql => sql(messageList(search)(dialect))
const deliveryListSql = (search: RedeliverFilter): Sql => sql(deliveryList(search)(dialect))

const FILL = `
  insert into agent_messaging.agents (id, project_id, name, default_principal, runtime_kind, runtime_options, desired_state, state,
      concurrency, max_attempts, max_queued, created_at, updated_at)
    select 'a' || n, 'p', n, '', '', '', '', '', 1, 1, 1, 0, 0 from generate_series(1, 200) n;
  insert into agent_messaging.sessions (agent_id, session_id, last_position, head_position, open_count, due_at, lease, last_message_id, last_message_at)
    select 'a' || 1 + n % 200, n, 1, 2, 0, case when n % 1000 = 0 then n end, 1, n, n from generate_series(1, 20000) n;
  insert into agent_messaging.messages (id, agent_id, session_seq, position, message, metadata, principal, attempt, state, response, finished_at, created_at, open_until)
    select n, 'a' || 1 + n % 200, n, 1, 'hi', json_build_object('correlationId', 'c' || n),
      json_build_object('type', 'end_user', 'endUserId', 'u' || n % 5000), 1, 'responded', 'hi', n, n, n from generate_series(1, 20000) n;
  insert into agent_messaging.webhooks (id, project_id, url, events, secret, disable_on_gone, ordering, payload, paused, consecutive_failures, circuit_trips,
      created_at, updated_at, is_deleted)
    select 'w' || n, 'p' || 1 + n % 100, '', '', '', false, 'none', 'full', false, 0, 0, 0, 0, false from generate_series(1, 500) n;
  insert into agent_messaging.events (id, project_id, position, has_deliveries, message_id, session_id, name, body, created_at)
    select n, 'p' || 1 + n % 100, case when n < 19900 then n end, n % 500 > 0, 'm' || n, 's' || n % 1000, 'message.responded', '', n from generate_series(1, 20000) n;
  insert into agent_messaging.deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, step, attempt_count, due_at, lease, finished_at, recovery_seq, recovery_attempts, created_at)
    select n, 'p' || 1 + n % 100, 1 + n % 500, 1 + n % 500, n, case when n % 1000 = 0 then 'pending' else 'delivered' end, 0, 1,
      case when n % 1000 = 0 then n end, 0, case when n % 1000 > 0 then n end, case when n % 3 = 0 then 1 + n % 200 end, 0, n from generate_series(1, 20000) n;
  insert into agent_messaging.attempts (delivery_seq, attempt_number, started_at, duration_ms, outcome, failed_webhook_seq)
    select n, 1, n, 1, '', case when n % 2 = 0 then 1 + n % 500 end from generate_series(1, 20000) n;
  insert into agent_messaging.recoveries (id, project_id, filter, state, matched, redelivered, delivered, last_page_at, created_at)
    select 'r' || n, 'p' || 1 + n % 100, '', 'sending', 1, 1, case when n > 2 then 1 end, n, n from generate_series(1, 5000) n;
  insert into agent_messaging.event_logs (project_id, last_position, floor) select 'p' || n, 20000, 0 from generate_series(1, 100) n;
  analyze`

async function planOf(
  { text, names }: Sql<never>,
  parameters: Record<string, unknown>,
): Promise<string> {
  const values = names.map((name) => parameters[name] ?? null)
  const { rows } = await client.query<{ 'QUERY PLAN': string }>({ text: `explain ${text}`, values })
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}

const ALL = Number.MAX_SAFE_INTEGER
const page = {
  projectId: 'p',
  agentId: 'a1',
  rows: 11,
  before: ALL,
  last: 0,
  fromSeq: 0,
  toSeq: ALL,
  fromPosition: 0,
  toPosition: ALL,
}
const ofProject = { ...page, projectId: 'p1' }
const NEWEST = { projectId: 'p1', position: ALL, seq: ALL, unplacedSeq: ALL, rows: 26 }
const OLDEST = { projectId: 'p1', position: 7, seq: 0, rows: 500 }
const PURGE = { createdBefore: 5, idsBefore: 5, limit: 100 }
const filter = { projectId: 'p', agentId: 'a1' }

const searchSql = (search: MessageSearch): Sql =>
  sql(placesSql(search, searchPath(search), searched))
const SOURCES = {
  sources: JSON.stringify([1, 2, 3].map((n) => ({ source: `a${n}`, before: ALL, beforeAt: ALL }))),
}

const SEARCHES: readonly [Partial<MessageSearch>, string][] = [
  [{ correlationId: 'c7' }, 'messages_correlation'],
  [{ endUserId: 'u7' }, 'messages_end_user'],
  [{ state: 'failed' }, 'messages_idle'],
  [{ status: 'pending' }, 'sessions_due'],
  [{ createdAfter: 19_000 }, 'messages_created'],
  [{ createdBefore: 500 }, 'messages_created'],
  [{ status: 'responded' }, 'messages_agent'],
]

it.each<[string, string, Sql<never>, Record<string, unknown>]>([
  ['record', 'messages_id_key', messageById, { messageId: '7' }],
  ['list messages', 'messages_agent', messageListSql(filter), page],
  [
    'list pending messages',
    'messages_idle',
    messageListSql({ ...filter, status: 'pending' }),
    page,
  ],
  [
    'list running messages',
    'sessions_due',
    messageListSql({ ...filter, state: 'running' }),
    { ...page, state: 'running' },
  ],
  [
    "list a session's messages",
    'messages_session_seq_position_key',
    messageListSql({ ...filter, sessionId: '7', order: 'asc' }),
    { ...page, sessionId: '7' },
  ],
  [
    'list questions',
    'messages_deadline',
    sql(askingSql({ projectId: 'p' })(dialect)),
    { projectId: 'p', at: 0, id: '', rows: 10 },
  ],
  ['list deliveries', 'deliveries_project', deliveryListSql({ projectId: 'p1' }), ofProject],
  [
    "list a webhook's deliveries",
    'deliveries_webhook',
    deliveryListSql({ projectId: 'p1', webhookId: 'w1' }),
    { ...ofProject, webhookId: 'w100' },
  ],
  [
    "list a message's deliveries",
    'events_message',
    deliveryListSql({ projectId: 'p1', messageId: 'm' }),
    { ...ofProject, messageId: 'm100', beforeEvent: ALL, lastEvent: 0 },
  ],
  [
    "list a session's deliveries",
    'events_session',
    deliveryListSql({ projectId: 'p1', sessionId: 's' }),
    { ...ofProject, sessionId: 's100', beforeEvent: ALL, lastEvent: 0 },
  ],
  ...SEARCHES.map(([search, index]): [string, string, Sql<never>, Record<string, unknown>] => [
    `search messages by ${Object.keys(search).join(' and ')}`,
    index,
    searchSql({ projectId: 'p', ...search }),
    { ...page, ...search, ...SOURCES },
  ]),
  [
    "search a session's messages",
    'messages_session_seq_position_key',
    searchSql({ projectId: 'p', sessionId: '7' }),
    { ...page, sources: JSON.stringify([{ source: 7, before: ALL, beforeAt: ALL }]) },
  ],
  [
    'list exhausted deliveries',
    'deliveries_undelivered',
    deliveryListSql({ projectId: 'p1', status: 'exhausted' }),
    { ...ofProject, status: 'exhausted' },
  ],
  [
    'find the last failures of webhooks',
    'attempts_failed',
    sql(failuresOf(dialect)),
    { projectId: 'p1', webhookIds: Array.from({ length: 100 }, (_, n) => `w${n}`) },
  ],
  [
    'count the open deliveries of webhooks',
    'deliveries_due',
    sql(openCounts(dialect)),
    { projectId: 'p1', webhookIds: ['w1', 'w2', 'w3'], most: 10_000 },
  ],
  [
    'count the deliveries of a recovery',
    'deliveries_recovery',
    sql(countedRecovery(dialect)),
    { projectId: 'p1', id: 'r1' },
  ],
  [
    'count the retried messages of a recovery',
    'messages_recovery',
    sql(countedRecovery(dialect)),
    { projectId: 'p1', id: 'r1' },
  ],
  [
    'find failed messages to retry',
    'messages_idle',
    sql(failedMessages(dialect)),
    {
      projectId: 'p',
      agentId: 'a7',
      recoverySeq: 1,
      createdAfter: 0,
      createdBefore: 9,
      after: 0,
      left: 9,
      limit: 9,
    },
  ],
  [
    'find the recoveries that have ended',
    'recoveries_unsettled',
    sql(unsettledRecoveries(dialect)),
    { limit: 20 },
  ],
  [
    'purge deliveries',
    'deliveries_finished',
    sql(finishedDeliveries(dialect)),
    { finishedBefore: 5, limit: 100 },
  ],
  [
    "erase an end user's messages",
    'messages_agent',
    sql(principalMessages(dialect)),
    { ...filter, mark: 'u', after: 0, last: 100 },
  ],
  [
    "erase an end user's deliveries",
    'deliveries_project',
    sql(principalDeliveries(dialect)),
    { projectId: 'p1', mark: 'u', after: 0, last: 100 },
  ],
  ['purge events', 'events_alone', sql(oldEvents(dialect)), PURGE],
  ['purge events whose ids were remembered', 'events_named', sql(oldEvents(dialect)), PURGE],
  ['send events again', 'events_log', sql(oldestEvents(dialect)), OLDEST],
  ['send events without a position again', 'events_unplaced', sql(oldestEvents(dialect)), OLDEST],
  ['list the newest events', 'events_log', sql(newestEvents(dialect)), NEWEST],
  [
    'list the newest events without a position',
    'events_unplaced',
    sql(newestEvents(dialect)),
    NEWEST,
  ],
  ["read a project's log", 'events_log', loggedEventsSql, { projectId: 'p1', after: 7, limit: 20 }],
  [
    "look for a project's events without a position",
    'events_unplaced',
    loggedEventsSql,
    { projectId: 'p1', after: 7, limit: 20 },
  ],
  [
    'find the place of an instant in a log',
    'events_log',
    sql(positionAtSql(dialect)),
    { projectId: 'p1', createdBefore: 100 },
  ],
  ['look for new events', 'events_log', newEventsSql, { projectIds: ['p1'], afters: [7] }],
  [
    "erase an end user's events",
    'events_log',
    sql(principalEvents(dialect)),
    { projectId: 'p1', mark: 'u', after: 0, last: 100 },
  ],
  [
    'count the people of a day',
    'messages_people',
    sql(peopleSql(dialect)),
    { projectId: 'p', agentId: null, day: 0, after: 'u7', limit: 1_000 },
  ],
  [
    'purge messages',
    'messages_open_until',
    sql(finishedMessages(dialect)),
    { finishedBefore: 5, limit: 100 },
  ],
])(
  'the statement to %s uses the index %s and scans no table',
  async (_, index, statement, parameters) => {
    const plan = await planOf(statement, parameters)
    expect(plan).toMatch(new RegExp(`(using|on) ${index}\\b`))
    expect(plan).not.toMatch(/Seq Scan on (sessions|messages|events|deliveries|attempts)/)
  },
)

it('a purge reads no event whose id is remembered', async () => {
  await client.query(`
    insert into agent_messaging.events (id, project_id, has_deliveries, name, body, fingerprint, created_at)
      select 'n' || n, 'p1', false, 'order.paid', '', 'f', 20000 + n from generate_series(1, 2000) n;
    analyze agent_messaging.events`)
  const { text, names } = sql(oldEvents(dialect))
  const purge = { createdBefore: 30_000, idsBefore: 20_000, limit: 1_000 }
  const { rows } = await client.query<{ 'QUERY PLAN': string }>({
    text: `explain (analyze, timing off) ${text}`,
    values: names.map((name) => purge[name as keyof typeof purge]),
  })
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).toMatch(/events_named .*actual rows=0/)
  expect(plan).not.toContain('Rows Removed')
})
