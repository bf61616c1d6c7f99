import type { Database } from 'better-sqlite3'
import { expect, it } from 'vitest'
import { attemptActivitySql, messageActivitySql } from './activity.js'
import { dueSql, nextLaneSql } from './claim-due.js'
import { createCommitter } from './committer.js'
import { openConnection } from './connection.js'
import { deliveryListSql, lastLookedAtSql } from './delivery-list.js'
import { messageListSql } from './message-list.js'
import { migrate } from './migrate.js'
import { migrations } from './migrations/index.js'
import { storesOf } from './open.js'
import { dueSessionsSql } from './session-row.js'

function database(): Database {
  const db = openConnection(':memory:', 0)
  migrate(db, migrations)
  return db
}

/** One line for each step. Parameters have no part in it. */
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
    'SEARCH deliveries USING COVERING INDEX deliveries_due (webhook_seq=? AND <expr>=? AND due_at<?)',
  ],
])('%s are found by an index of open rows alone, in order', (_, sql, plan) => {
  expect(planOf(database(), sql)).toEqual([plan])
})

it('the next webhook to send to is found by descents of the same index, and by looks at single rows', () => {
  expect(
    new Set(planOf(database(), nextLaneSql).filter((step) => step.startsWith('SEARCH'))),
  ).toEqual(
    new Set([
      'SEARCH deliveries USING COVERING INDEX deliveries_due (webhook_seq>?)',
      'SEARCH deliveries USING COVERING INDEX deliveries_due (webhook_seq=? AND <expr>=? AND due_at<?)',
      'SEARCH w USING INTEGER PRIMARY KEY (rowid=?)',
    ]),
  )
})

/**
 * What may be read from end to end: all agents to find those to look after, what is being erased, deleted webhooks, a list that was handed in,
 * and the lanes, as far as a walk over them has come.
 * To count what is open, all that is; and as far as a sweep counts (the subquery), what waits for a disabled webhook.
 */
const SCANS = [
  ...[
    'SCAN agents',
    'SCAN erasures',
    'SCAN w USING COVERING INDEX webhooks_deleted',
    'SCAN json_each VIRTUAL TABLE INDEX 1:',
  ],
  ...[
    'SCAN deliveries USING COVERING INDEX deliveries_due',
    'SCAN l',
    'SCAN s USING INDEX sessions_due',
    'SCAN (subquery-1)',
    'SCAN lanes',
  ],
]

it('no statement sorts, and none reads a table from end to end but for those that stay small', () => {
  const statements = [...preparedStatements(), ...listStatements()]
  expect(statements.length).toBeGreaterThan(70)
  const db = database()
  const steps = statements.flatMap((sql) => planOf(db, sql))
  expect(steps.filter((step) => step.includes('TEMP B-TREE'))).toEqual([])
  expect(new Set(steps.filter((step) => step.startsWith('SCAN')))).toEqual(new Set(SCANS))
})

it('no statement has a bound number alone behind its limit or offset, for which SQLite prepares it anew at each run', () => {
  const statements = [
    ...preparedStatements(),
    ...listStatements(),
    messageActivitySql,
    attemptActivitySql,
  ]
  expect(statements.filter((sql) => /\b(limit|offset) [?@]\w*(?! [+-]|\w)/.test(sql))).toEqual([])
})

it('counts of late activity reach their rows by indexes, the newest first', () => {
  const steps = [messageActivitySql, attemptActivitySql].flatMap((sql) => planOf(database(), sql))
  expect(steps.filter((step) => step.startsWith('SEARCH'))).toEqual([
    'SEARCH a USING INDEX agents_project (project_id=?)',
    'SEARCH m USING INDEX messages_agent (agent_id=? AND rowid>?)',
    'SEARCH messages USING COVERING INDEX messages_agent (agent_id=?)',
    'SEARCH deliveries USING INDEX deliveries_project (project_id=?)',
    'SEARCH t USING PRIMARY KEY (delivery_seq=?)',
    'SEARCH w USING INTEGER PRIMARY KEY (rowid=?)',
  ])
  expect(steps.filter((step) => step.startsWith('SCAN'))).toEqual(['SCAN d'])
})

it('lists by state read the rows that are not done alone', () => {
  const db = database()
  expect(planOf(db, messageListSql({ projectId: '', agentId: '', state: 'failed' }))).toContain(
    'SEARCH m USING INDEX messages_unanswered (agent_id=? AND rowid>? AND rowid<?)',
  )
  expect(
    planOf(db, deliveryListSql({ projectId: '', webhookId: '', status: 'exhausted' })),
  ).toContain('SEARCH d USING INDEX deliveries_undelivered (project_id=? AND rowid>? AND rowid<?)')
})

/** What the stores prepare when they are made. */
function preparedStatements(): string[] {
  const db = database()
  const committer = createCommitter(db, { maxQueued: 1, patienceMs: 0 })
  const prepare = db.prepare.bind(db)
  const statements: string[] = []
  db.prepare = (sql: string) => {
    statements.push(sql)
    return prepare(sql)
  }
  storesOf(db, committer)
  return statements
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
    places.map((session) => messageListSql({ projectId: '', agentId: '', ...filter, ...session })),
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
      [deliveryListSql, lastLookedAtSql].map((sqlOf) =>
        sqlOf({ projectId: '', ...filter, ...webhook }),
      ),
    ),
  )
  return [...messages, ...deliveries]
}
