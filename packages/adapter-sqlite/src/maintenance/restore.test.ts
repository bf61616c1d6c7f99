import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { aProject, unwrap } from '@org/agent-messaging-testing'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { backupSqlite, openSqliteStorage, restoreSqlite, type SqliteStorage } from '../index.js'

let directory: string
const file = (name: string): string => path.join(directory, name)
const restore = (from = 'copy.db') =>
  restoreSqlite({ from: file(from), path: file('service.db'), suffix: '.old' })
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'restore-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const projectsOf = async (storage: SqliteStorage): Promise<readonly string[]> =>
  unwrap(await storage.credentials.listProjects({ limit: 10 })).data.map(({ name }) => name)

async function projectsIn(name: string): Promise<readonly string[]> {
  const storage = openSqliteStorage({ path: file(name) })
  const names = await projectsOf(storage)
  await storage.close()
  return names
}

const make = async (name: string, project: string): Promise<void> => {
  const storage = openSqliteStorage({ path: file(name) })
  await storage.credentials.createProject(aProject({ name: project }))
  await storage.close()
}

it('restore replaces the file, and keeps the old file with the log of a killed process', async () => {
  await make('copy.db', 'before')
  await make('service.db', 'after')
  writeFileSync(file('service.db-wal'), '')
  expect(await restore()).toEqual({ bytes: expect.any(Number), keptAs: file('service.db.old') })
  expect(readdirSync(directory).filter((name) => name.includes('.old'))).toEqual([
    'service.db.old',
    'service.db.old-wal',
  ])
  expect(
    readdirSync(directory).filter((name) => /service\.db-(wal|shm)$|restored/.test(name)),
  ).toEqual([])
  expect([await projectsIn('service.db'), await projectsIn('service.db.old')]).toEqual([
    ['before'],
    ['after'],
  ])
  expect(existsSync(file('copy.db'))).toBe(true)
})

it('the restored file has the mode of the file that it replaces', async () => {
  await make('copy.db', 'before')
  await make('service.db', 'after')
  chmodSync(file('service.db'), 0o640)
  await restore()
  expect(statSync(file('service.db')).mode & 0o777).toBe(0o640)
})

it(
  'a file that root restored, and its lock, belong to the owner of the replaced file',
  needs('root'),
  async () => {
    await make('copy.db', 'before')
    await make('service.db', 'after')
    rmSync(file('service.db-lock'))
    chownSync(file('service.db'), 65_534, 65_533)
    await restore()
    for (const name of ['service.db', 'service.db-lock'])
      expect(statSync(file(name)), name).toMatchObject({ uid: 65_534, gid: 65_533 })
  },
)

it('restore needs no file to replace, and deletes a log without a file', async () => {
  await make('copy.db', 'before')
  writeFileSync(file('service.db-wal'), 'of a file that is gone')
  expect(await restore()).toMatchObject({ keptAs: undefined })
  expect(existsSync(file('service.db-wal'))).toBe(false)
  expect(await projectsIn('service.db')).toEqual(['before'])
})

it('restore refuses a file that is open, and does not change it', async () => {
  await make('service.db', 'after')
  await backupSqlite({ path: file('service.db'), to: file('copy.db') })
  const storage = openSqliteStorage({ path: file('service.db') })
  await expect(restore()).rejects.toThrow(
    /service\.db is in use by another process; stop that process first\.$/,
  )
  expect(await projectsOf(storage)).toEqual(['after'])
  await storage.close()
  await expect(restore()).resolves.toBeDefined()
})

it.each([
  ['a missing copy', () => undefined, /copy\.db: there is no such file/],
  [
    'a file that is not a database',
    () => writeFileSync(file('copy.db'), 'x'.repeat(10_000)),
    /copy\.db: is not a SQLite database/,
  ],
  ['an empty copy', () => writeFileSync(file('copy.db'), ''), /copy\.db: the database is empty/],
  [
    "another application's database",
    () => new Database(file('copy.db')).exec('create table theirs (x)').close(),
    /copy\.db is a .* another application/,
  ],
])('restore refuses %s, and does not change the file', async (_, given, words) => {
  await make('service.db', 'after')
  given()
  await expect(restore()).rejects.toThrow(words)
  expect(await projectsIn('service.db')).toEqual(['after'])
  expect(readdirSync(directory).filter((name) => /old|restored|partial/.test(name))).toEqual([])
})

it('an aborted restore changes nothing', async () => {
  await make('service.db', 'after')
  await backupSqlite({ path: file('service.db'), to: file('copy.db') })
  const before = readdirSync(directory)
  const work = restoreSqlite({
    from: file('copy.db'),
    path: file('service.db'),
    suffix: '.old',
    signal: AbortSignal.abort('enough'),
  })
  await expect(work).rejects.toBe('enough')
  expect([readdirSync(directory), await projectsIn('service.db')]).toEqual([before, ['after']])
})
