import type { StateChange } from '@org/agent-messaging-core/storage'
import {
  accepted,
  anAgent,
  anEvent,
  aProject,
  aWebhook,
  PROJECT_ID,
  unwrapError,
  mapped,
  unwrap,
} from '@org/agent-messaging-testing'
import Database from 'better-sqlite3'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { tempFile } from '../../test/temp-file.js'
import { DamageWatch } from './damage.js'
import { backupSqlite, findSqliteDamage, openSqliteStorage } from '../index.js'

const DAMAGED = /SQLite reports damage/

/** Creates a file with an index entry whose row is missing, as after replaying the wrong log. */
async function damagedFile(): Promise<string> {
  const path = tempFile()
  const storage = openSqliteStorage({ path })
  await storage.credentials.createProject(aProject())
  await storage.agents.create(anAgent(), 1_000)
  await storage.close()
  // While the index is missing from the schema, SQLite does not update it.
  const rows = withSchema(path, (db) => {
    const found = db
      .prepare(
        "select rowid, * from sqlite_master where tbl_name = 'agents' and type = 'index' and sql is not null",
      )
      .all()
    db.exec(
      "delete from sqlite_master where tbl_name = 'agents' and type = 'index' and sql is not null",
    )
    return found as Record<string, unknown>[]
  })
  withSchema(path, (db) => {
    db.exec('delete from agents')
    const put = db.prepare(
      'insert into sqlite_master (type, name, tbl_name, rootpage, sql) values (@type, @name, @tbl_name, @rootpage, @sql)',
    )
    for (const row of rows) put.run(row)
  })
  return path
}

function withSchema<T>(path: string, change: (db: Database.Database) => T): T {
  const db = new Database(path)
  db.unsafeMode(true)
  db.pragma('writable_schema = on')
  try {
    return change(db)
  } finally {
    db.close()
  }
}

it('findSqliteDamage returns undefined for a good file and for a missing file', async () => {
  const path = tempFile()
  expect(findSqliteDamage(path)).toBeUndefined()
  await openSqliteStorage({ path }).close()
  expect(findSqliteDamage(path)).toBeUndefined()
})

it('findSqliteDamage returns the first damage', async () => {
  expect(findSqliteDamage(await damagedFile())).toMatch(/^wrong # of entries in index agents_\w+$/)
})

it('a storage reports damage once, and its pings fail from then on', async () => {
  const path = await damagedFile()
  const reported: string[] = []
  const storage = openSqliteStorage({ path, onDamage: (sentence) => reported.push(sentence) })
  expect((await storage.ping()).ok).toBe(true)
  for (let i = 0; i < 2; i++) {
    const listed = await storage.agents.list(PROJECT_ID, { limit: 10 })
    expect(unwrapError(listed).reason).toMatch(DAMAGED)
  }
  expect(unwrapError(await storage.ping()).reason).toMatch(DAMAGED)
  expect(reported).toEqual([
    expect.stringMatching(/Restore a backup only if the check finds damage/),
  ])
  await storage.close()
})

it('a full disk is no damage, and its message names the folder', () => {
  const path = tempFile()
  const error = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  const watch = new DamageWatch(path, () => undefined)
  expect(watch.explain(error).reason).toBe(
    `the disk of ${dirname(path)} is full; free some space on it.`,
  )
  expect(watch.found).toBeUndefined()
})

it('a backup of a damaged file names the source, and leaves no file', async () => {
  const path = await damagedFile()
  const to = tempFile('copy.db')
  await expect(backupSqlite({ path, to })).rejects.toThrow(
    /storage\.db: is a damaged SQLite database \(wrong # of entries in index agents_\w+\); restore it from an earlier backup\.$/,
  )
  expect(existsSync(to)).toBe(false)
})

/** Creates a file with a webhook's due deliveries, whose table of attempts is damaged. */
async function fileWithDamagedAttempts(): Promise<string> {
  const path = tempFile()
  const storage = openSqliteStorage({ path })
  const agent = anAgent()
  await storage.credentials.createProject(aProject())
  await storage.agents.create(agent, 1_000)
  await storage.webhooks.create(aWebhook(), 100)
  for (const id of ['one', 'two']) await storage.agents.changeState(stateChange(agent.id, id))
  await storage.close()
  const db = new Database(path)
  const [page, pageSize] = [
    db.prepare("select rootpage from sqlite_master where name = 'attempts'").pluck().get(),
    db.pragma('page_size', { simple: true }),
  ].map(Number)
  db.close()
  const bytes = readFileSync(path)
  bytes.fill(0xff, ((page ?? 0) - 1) * (pageSize ?? 0), (page ?? 0) * (pageSize ?? 0))
  writeFileSync(path, bytes)
  return path
}

const stateChange = (agentId: string, id: string): StateChange => ({
  agentId,
  from: 'running',
  to: { kind: 'running', startedAt: NOW },
  outgoing: {
    events: [anEvent(anAgent({ id: agentId }), { id, name: 'agent.error' })],
    nextDeliveryId: () => `delivery ${id}`,
  },
})

const NOW = 1_900_000_000_000
const claimOne = {
  now: NOW,
  until: NOW + 1_000,
  limit: 1,
  perWebhook: 1,
  perProject: 1,
  retries: 1,
  rooms: new Map(),
  except: new Set<string>(),
}

it('a delivery whose attempt cannot be recorded is not repeated, also after a restart', async () => {
  const path = await fileWithDamagedAttempts()
  const storage = openSqliteStorage({ path })
  const [claimed] = unwrap(
    await mapped(storage.deliveries.claimDue(claimOne), (claims) => [...claims.deliveries]),
  )
  const record = {
    deliveryId: claimed?.delivery.id ?? '',
    token: claimed?.lease.token ?? 0,
    attempt: { startedAt: NOW, durationMs: 1, outcome: accepted() },
    state: { kind: 'delivered', deliveredAt: NOW },
  } as const
  expect(!(await storage.deliveries.recordAttempts([record])).ok).toBe(true)
  const again = { ...claimOne, now: NOW + 2_000, until: NOW + 3_000 }
  expect(
    unwrapError(
      await mapped(storage.deliveries.claimDue(again), (claims) => [...claims.deliveries]),
    ).reason,
  ).toMatch(DAMAGED)
  await storage.close()

  const reported: string[] = []
  const restarted = openSqliteStorage({ path, onDamage: (sentence) => reported.push(sentence) })
  expect(reported).toEqual([expect.stringMatching(/is a damaged SQLite database \(.+\); restore/)])
  expect(!(await restarted.ping()).ok).toBe(true)
  expect(
    !(await mapped(restarted.deliveries.claimDue(again), (claims) => [...claims.deliveries])).ok,
  ).toBe(true)
  await restarted.close()
})

it('an intact file with a mark of damage is checked once, and then works', async () => {
  const path = tempFile()
  await openSqliteStorage({ path }).close()
  writeFileSync(`${path}-damaged`, '')
  const storage = openSqliteStorage({ path })
  expect((await storage.ping()).ok).toBe(true)
  expect(existsSync(`${path}-damaged`)).toBe(false)
  await storage.close()
})
