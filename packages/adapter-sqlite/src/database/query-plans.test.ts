import {
  searchPath,
  type MessageSearch,
  type SessionScope,
} from '@org/agent-messaging-core/storage'
import {
  askingSql,
  deliveryListSql,
  failedMessages,
  lastReadSql,
  messageListSql,
  oldEvents,
  openCounts,
  peopleSql,
  placesSql,
  sessionListSql,
  STATEMENTS,
} from '@org/agent-messaging-sql-kit'
import type { Database } from 'better-sqlite3'
import { expect, it } from 'vitest'
import { dueSql, nextWebhookSql } from '../deliveries/claim-due.js'
import { GroupCommitter } from './group-committer.js'
import { openConnection } from './connection.js'
import { searched } from '../messages/search-in-steps.js'
import { migrate } from '../schema/migrate.js'
import { dialect } from './operations.js'
import { storesOf } from '../stores.js'
import { dueSessionsSql } from '../messages/sessions.js'

function database(): Database {
  const db = openConnection(':memory:', 0)
  migrate(db)
  return db
}

/** One line for each step. */
function planOf(db: Database, sql: string): string[] {
  const steps = db.prepare(`explain query plan ${sql.replaceAll(/@\w+|\?/g, '1')}`).all() as {
    detail: string
  }[]
  return steps.map(({ detail }) => detail)
}

it.each([
  [
    'the due sessions of an agent',
    dueSessionsSql,
    'SEARCH sessions USING COVERING INDEX sessions_due (agent_id=? AND due_at<?)',
  ],
  [
    'the due deliveries of a webhook',
    dueSql,
    'SEARCH deliveries USING COVERING INDEX deliveries_due (receiver_seq=? AND <expr>=? AND due_at<?)',
  ],
])('%s are found in order by an index that has only open rows', (_, sql, plan) => {
  expect(planOf(database(), sql)).toEqual([plan])
})

it('the next webhook to send to is found by descents of the same index and by single rows', () => {
  expect(
    new Set(planOf(database(), nextWebhookSql).filter((step) => step.startsWith('SEARCH'))),
  ).toEqual(
    new Set([
      'SEARCH deliveries USING COVERING INDEX deliveries_due (receiver_seq>?)',
      'SEARCH deliveries USING COVERING INDEX deliveries_due (receiver_seq=? AND <expr>=? AND due_at<?)',
      'SEARCH w USING INTEGER PRIMARY KEY (rowid=?)',
    ]),
  )
})

/**
 * The allowed scans: all agents, pending erasures, deleted webhooks, a list in a parameter, and
 * the webhooks that a claim has visited. A page takes the first running recovery, a settlement the first others, and the sweep
 * the first deleted hook. The backlog counts all open rows. The sweep of a disabled webhook counts
 * a bounded subquery. A jump of the clock moves the times of all open rows, of all webhooks and of
 * all listeners. Counts read the entries that no process has folded yet, the rows found, and the
 * only row of `counting`. The log of events reads its end from SQLite's table of sequences, which
 * has few rows. A page of people reads what it has found, and a list of events its own part.
 */
const SCANS = [
  'SCAN agents',
  'SCAN count_entries',
  'SCAN folded',
  'SCAN senders',
  'SCAN erasures',
  'SCAN event_listeners',
  'SCAN w USING COVERING INDEX webhooks_deleted',
  'SCAN json_each VIRTUAL TABLE INDEX 1:',
  'SCAN deliveries USING COVERING INDEX deliveries_due',
  'SCAN deliveries USING COVERING INDEX deliveries_waiting',
  'SCAN q',
  'SCAN r USING INDEX recoveries_running',
  'SCAN r USING INDEX recoveries_unsettled',
  'SCAN s USING INDEX sessions_due',
  'SCAN found',
  'SCAN queues',
  'SCAN deliveries USING INDEX deliveries_due',
  'SCAN sessions USING COVERING INDEX sessions_due',
  'SCAN sessions USING INDEX sessions_due',
  'SCAN webhooks',
  'SCAN webhooks USING INDEX webhooks_ended',
  'SCAN webhooks USING INDEX webhooks_unhealthy',
  'SCAN CONSTANT ROW',
  'SCAN sqlite_sequence',
  'SCAN counting',
  'SCAN p',
  'SCAN page',
  'SCAN part',
  'SCAN share',
]

it('no statement sorts, and only allowed statements scan a table', () => {
  const statements = [...preparedStatements(), ...listStatements()]
  expect(statements.length).toBeGreaterThan(70)
  const db = database()
  const steps = statements.flatMap((sql) => planOf(db, sql))
  expect(steps.filter((step) => step.includes('TEMP B-TREE'))).toEqual([])
  expect(new Set(steps.filter((step) => step.startsWith('SCAN')))).toEqual(new Set(SCANS))
})

it('the people of a day are found by descents of an index, without the rows of messages', () => {
  const db = database()
  const plan = planOf(db, peopleSql(dialect))
  expect(plan).toContain(
    'SEARCH m USING INDEX messages_people (agent_id=? AND <expr>=? AND <expr>>?)',
  )
  const program = db.prepare(`explain ${peopleSql(dialect).replaceAll(/@\w+/g, '1')}`).all() as {
    readonly opcode: string
  }[]
  expect(program.filter(({ opcode }) => opcode.includes('Func'))).toEqual([])
})

it('no statement has a bare bound number after limit or offset, which SQLite would prepare again', () => {
  const statements = [...preparedStatements(), ...listStatements()]
  expect(statements.filter((sql) => /\b(limit|offset) [?@]\w*(?! [+-]|\w)/.test(sql))).toEqual([])
})

it('a purge reads no event whose id is remembered', () => {
  expect(
    planOf(database(), oldEvents(dialect)).filter((step) => step.startsWith('SEARCH')),
  ).toEqual(
    ['alone', 'named'].map((part) => `SEARCH events USING INDEX events_${part} (created_at<?)`),
  )
})

it('questions are found by an index that has their deadlines and ids', () => {
  expect(planOf(database(), askingSql({ projectId: '' })(dialect)).join(' | ')).toContain(
    'SEARCH m USING COVERING INDEX messages_deadline (agent_id=? AND deadline_at>?)',
  )
})

it('a list by state reads only unfinished rows', () => {
  const db = database()
  expect(planOf(db, failedMessages(dialect))).toContain(
    'SEARCH m USING INDEX messages_unanswered (agent_id=? AND rowid>?)',
  )
  expect(
    planOf(db, messageListSql({ projectId: '', agentId: '', state: 'failed' })(dialect)),
  ).toContain('SEARCH m USING INDEX messages_unanswered (agent_id=? AND rowid>? AND rowid<?)')
  expect(
    planOf(db, deliveryListSql({ projectId: '', webhookId: '', status: 'exhausted' })(dialect)),
  ).toContain('SEARCH d USING INDEX deliveries_undelivered (project_id=? AND rowid>? AND rowid<?)')
})

const OF_PROJECT = { projectId: '' }
const SEARCHES: readonly [MessageSearch, string][] = [
  [
    { ...OF_PROJECT, correlationId: 'c' },
    'messages_correlation (agent_id=? AND <expr>=? AND rowid<?)',
  ],
  [{ ...OF_PROJECT, endUserId: 'u' }, 'messages_end_user (agent_id=? AND <expr>=? AND rowid<?)'],
  [{ ...OF_PROJECT, state: 'failed' }, 'messages_unanswered (agent_id=? AND rowid<?)'],
  [
    { ...OF_PROJECT, status: 'pending', createdAfter: 1 },
    'messages_unanswered (agent_id=? AND rowid<?)',
  ],
  [
    { ...OF_PROJECT, createdAfter: 1, createdBefore: 2 },
    'messages_created (agent_id=? AND created_at>? AND created_at<?)',
  ],
  [{ ...OF_PROJECT, status: 'responded' }, 'messages_agent (agent_id=? AND rowid<?)'],
  [OF_PROJECT, 'messages_agent (agent_id=? AND rowid<?)'],
]

it.each(SEARCHES)('the search %j reads the index %s in its order', (search, index) => {
  const path = searchPath(search)
  const db = database()
  expect(planOf(db, placesSql(search, path, searched))).toEqual([
    `SEARCH m USING INDEX ${index}`,
    'CORRELATED SCALAR SUBQUERY 1',
    'SEARCH s USING INTEGER PRIMARY KEY (rowid=?)',
  ])
})

const SCOPES: readonly [SessionScope, string][] = [
  [{ prefix: 'user-1/' }, 'agent_id=? AND session_id>? AND session_id<?'],
  [{ ids: ['a', 'b'] }, 'agent_id=? AND session_id=?'],
]

it.each(SCOPES)('the lists in the scope %j read only its sessions', (scope, range) => {
  const db = database()
  const [sessions, messages] = [
    expect.stringMatching(/ USING (COVERING )?INDEX sqlite_autoindex_sessions_\d \(RANGE\)$/),
    expect.stringMatching(
      / USING (COVERING )?INDEX sqlite_autoindex_messages_\d \(session_seq=\?\)$/,
    ),
  ]
  const stepsOf = (sql: string) =>
    planOf(db, sql)
      .filter((step) => /(sessions|messages)_/.test(step))
      .map((step) => step.replace(range, 'RANGE'))
  const ofAgent = { ...OF_PROJECT, agentId: 'a', scope }
  expect(stepsOf(sessionListSql(scope)(dialect))).toEqual([sessions])
  for (const filter of [{}, { order: 'asc' }, { status: 'pending' }, { state: 'queued' }] as const)
    expect(stepsOf(messageListSql({ ...ofAgent, ...filter })(dialect))).toEqual([
      sessions,
      messages,
    ])
  for (const search of [
    {},
    { state: 'failed' },
    { correlationId: 'c' },
    { text: 't' },
    { endUserId: 'u' },
  ] as const) {
    const given = { ...OF_PROJECT, scope, ...search }
    // Sorts the rows of the scope without reading their texts.
    expect(stepsOf(placesSql(given, searchPath(given), searched))).toEqual([
      sessions,
      expect.stringMatching(/ USING COVERING INDEX sqlite_autoindex_messages_\d /),
    ])
  }
})

it('the search of a session reads its messages by their places', () => {
  expect(
    planOf(
      database(),
      placesSql({ ...OF_PROJECT, sessionId: 's', state: 'failed' }, 'session', searched),
    ),
  ).toEqual([
    expect.stringMatching(
      /^SEARCH m USING INDEX sqlite_autoindex_messages_\d \(session_seq=\? AND position<\?\)$/,
    ),
  ])
})

it.each([
  [{ ...OF_PROJECT, messageId: 'm' }, 'SEARCH e USING INDEX events_message (message_id=?'],
  [
    { ...OF_PROJECT, sessionId: 's' },
    'SEARCH e USING INDEX events_session (project_id=? AND session_id=?',
  ],
])('the deliveries of %j are found by their events, in order', (filter, first) => {
  const db = database()
  for (const sqlOf of [deliveryListSql, lastReadSql]) {
    const [step, ...others] = planOf(db, sqlOf(filter)(dialect)).filter(
      (one) => !one.includes('SUBQUERY'),
    )
    expect(step?.replace('COVERING ', '')).toContain(first)
    expect(others.join()).toContain('SEARCH d USING INDEX deliveries_event (event_seq=?')
    expect(others.join()).not.toContain('TEMP B-TREE')
  }
})

/** The statements that the stores prepare when they are created, and those of the kit. */
function preparedStatements(): string[] {
  const db = database()
  const committer = new GroupCommitter(db, { maxQueued: 1, busyTimeoutMs: 0 })
  const prepare = db.prepare.bind(db)
  const statements: string[] = []
  db.prepare = (sql: string) => {
    statements.push(sql)
    return prepare(sql)
  }
  storesOf(db, committer)
  return [...statements, ...STATEMENTS.map((text) => text(dialect))]
}

function listStatements(): string[] {
  const messageFilters = [
    {},
    { status: 'pending' },
    { status: 'responded' },
    { state: 'queued' },
    { state: 'responded' },
  ] as const
  const places = [
    {},
    { order: 'asc' },
    { sessionId: 's' },
    { sessionId: 's', order: 'asc' },
  ] as const
  const messages = messageFilters.flatMap((filter) =>
    places.map((session) =>
      messageListSql({ projectId: '', agentId: '', ...filter, ...session })(dialect),
    ),
  )
  const deliveryFilters = [
    {},
    { status: 'pending' },
    { status: 'delivered' },
    { status: 'cancelled' },
    { event: 'agent.error' },
  ] as const
  const deliveries = deliveryFilters.flatMap((filter) =>
    [{}, { webhookId: 'w' }].flatMap((webhook) =>
      [deliveryListSql, lastReadSql].map((sqlOf) =>
        sqlOf({ projectId: '', ...filter, ...webhook })(dialect),
      ),
    ),
  )
  return [...messages, ...deliveries]
}

it('the open deliveries of a webhook are counted in an index that has only open rows', () =>
  expect(planOf(database(), openCounts(dialect))).toContain(
    'SEARCH d USING COVERING INDEX deliveries_due (receiver_seq=?)',
  ))
