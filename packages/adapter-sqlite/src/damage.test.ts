import { anAgent, aProject, PROJECT_ID } from '@org/agent-messaging-core/testing'
import Database from 'better-sqlite3'
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { tempFile } from '../test/temp-file.js'
import { backupSqlite, findSqliteDamage, openSqliteStorage } from './index.js'

const DAMAGED = /is a damaged SQLite database/

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
  expect((await storage.ping()).isOk()).toBe(true)
  for (let i = 0; i < 2; i++) {
    const listed = await storage.agents.list(PROJECT_ID, { limit: 10 })
    expect(listed._unsafeUnwrapErr().reason).toMatch(DAMAGED)
  }
  expect((await storage.ping())._unsafeUnwrapErr().reason).toMatch(DAMAGED)
  expect(reported).toEqual([`${path}: is a damaged SQLite database; restore it from a backup.`])
  await storage.close()
})

it('a backup of a damaged file names the source, and leaves no file', async () => {
  const path = await damagedFile()
  const to = tempFile('copy.db')
  await expect(backupSqlite({ path, to })).rejects.toThrow(
    /storage\.db: is a damaged SQLite database \(wrong # of entries in index agents_\w+\); restore it from an earlier backup\.$/,
  )
  expect(existsSync(to)).toBe(false)
})
