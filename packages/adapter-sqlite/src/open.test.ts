import {
  anAgent,
  aProject,
  aWebhook,
  fakeIds,
  newMessage,
  unwrap,
  unwrapError,
} from '@org/agent-messaging-testing'
import Database from 'better-sqlite3'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { tempFile } from '../test/temp-file.js'
import { openConnection } from './database/connection.js'
import { explainOpenFailure } from './database/errors.js'
import { openSqliteStorage, SqliteOpenError } from './index.js'

const WAL_FULL = {
  journal_mode: 'wal',
  synchronous: 2,
  fullfsync: 1,
  foreign_keys: 1,
  wal_autocheckpoint: 4_000,
}

function settingsOf(path: string): unknown {
  const db = openConnection(path, 0)
  const settings = Object.keys(WAL_FULL).map((name) => [name, db.pragma(name, { simple: true })])
  db.close()
  return Object.fromEntries(settings)
}

it('G1: the connection syncs each commit, also of a reopened file', async () => {
  const path = tempFile()
  await openSqliteStorage({ path }).close()
  expect(settingsOf(path)).toEqual(WAL_FULL)
  expect(settingsOf(path)).toEqual(WAL_FULL)
})

it('the storage keeps rows when it is reopened', async () => {
  const path = tempFile()
  const storage = openSqliteStorage({ path })
  const project = aProject()
  const agent = anAgent()
  await storage.credentials.createProject(project)
  await storage.agents.create(agent, 1_000)
  await storage.close()
  const reopened = openSqliteStorage({ path })
  expect(unwrap(await reopened.credentials.getProject(project.id))).toEqual(project)
  expect(unwrap(await reopened.agents.get(project.id, agent.id))).toEqual(agent)
  await reopened.close()
})

it('new files are readable only by their owner, and existing files keep their mode', async () => {
  const path = tempFile()
  const mask = process.umask(0o022)
  const storage = openSqliteStorage({ path })
  await storage.credentials.createProject(aProject())
  process.umask(mask)
  const modes = () =>
    readdirSync(dirname(path)).map((name) => [
      name,
      statSync(join(dirname(path), name)).mode & 0o777,
    ])
  expect(modes()).toEqual(
    ['storage.db', 'storage.db-lock', 'storage.db-shm', 'storage.db-wal'].map((name) => [
      name,
      0o600,
    ]),
  )
  await storage.close()
  chmodSync(path, 0o640)
  await openSqliteStorage({ path }).close()
  expect(statSync(path).mode & 0o777).toBe(0o640)
})

it('two storages in memory share no rows, and both are alone', async () => {
  const one = openSqliteStorage({ path: ':memory:' })
  const other = openSqliteStorage({ path: ':memory:' })
  await one.credentials.createProject(aProject())
  expect(unwrap(await other.credentials.getProject(aProject().id))).toBeUndefined()
  expect([one.alone, other.alone]).toEqual([true, true])
  await Promise.all([one.close(), other.close()])
})

it('a ping succeeds while the file can be written', async () => {
  const path = tempFile()
  const storage = openSqliteStorage({ path, busyTimeoutMs: 0 })
  expect((await storage.ping()).ok).toBe(true)
  const other = new Database(path)
  other.exec('begin immediate')
  expect(unwrapError(await storage.ping())).toMatchObject({ kind: 'unavailable' })
  other.close()
  await storage.close()
  expect(unwrapError(await storage.ping())).toMatchObject({ kind: 'unavailable' })
})

it('a write waits for another process, and the event loop continues', async () => {
  const path = tempFile()
  const storage = openSqliteStorage({ path })
  const other = new Database(path)
  other.exec('begin immediate')
  const written = storage.credentials.createProject(aProject())
  // On a blocked thread, this loop could not end before the busy timeout.
  for (let turns = 0; turns < 10; turns++) await new Promise((turn) => setTimeout(turn, 1))
  expect(unwrap(await storage.credentials.getProject(aProject().id))).toBeUndefined()
  other.close()
  expect((await written).ok).toBe(true)
  expect(unwrap(await storage.credentials.getProject(aProject().id))).toEqual(aProject())
  await storage.close()
})

it('the storage can be closed twice', async () => {
  const storage = openSqliteStorage({ path: tempFile() })
  await storage.close()
  await expect(storage.close()).resolves.toBeUndefined()
})

it('the storage accepts maxQueuedWrites queued writes', async () => {
  const storage = openSqliteStorage({ path: ':memory:', maxQueuedWrites: 1 })
  const agent = anAgent()
  const results = await Promise.all([
    storage.agents.create(agent, 1_000),
    storage.messages.accept(newMessage(agent)),
  ])
  expect(results.map((result) => result.ok)).toEqual([true, false])
  await storage.close()
})

it('deleting a webhook erases its secrets', async () => {
  const path = tempFile()
  const storage = openSqliteStorage({ path })
  const { secret } = aWebhook()
  const headers = { names: ['X-A'], sealed: secret }
  const webhook = aWebhook({
    id: fakeIds().next(),
    headers,
    description: 'mine',
    previousSecret: { secret, until: 1 },
  })
  await storage.webhooks.create(webhook, 1)
  await storage.webhooks.delete(webhook.projectId, webhook.id)
  await storage.close()
  const db = new Database(path, { readonly: true })
  const kept = db
    .prepare(
      'select url, description, secret, previous_secret, header_names, headers from webhooks',
    )
    .raw()
    .all()
  expect(kept).toEqual([['', null, '', null, null, null]])
  db.close()
})

it.each([
  [
    'a folder that does not exist',
    () => join(dirname(tempFile()), 'missing', 'storage.db'),
    /its folder does not exist; create it first/,
  ],
  [
    'a folder that is a file',
    () => join(fileWith('text'), 'storage.db'),
    /its folder does not exist/,
  ],
  [
    'a folder in the place of the file',
    () => folder(),
    /name a file that this process can write, in a folder where it can create files/,
  ],
  [
    'a folder in the place of its lock',
    () => lockedByAFolder(),
    /storage\.db-lock: cannot be opened; name a file/,
  ],
  [
    'a file that is no database',
    () => fileWith('x'.repeat(10_000)),
    /is not a SQLite database; name another file, or move this one away/,
  ],
  [
    'the database of a newer release',
    () => newerDatabase(),
    /has schema version 999, written by a newer release/,
  ],
  [
    "another application's database",
    () => foreignDatabase(),
    /is a SQLite database of another application/,
  ],
  ['a log without its file', () => logAlone(), /is missing, but its log .* has commits/],
  ['no path', () => ' ', /the path of the SQLite file is empty/],
])('openSqliteStorage refuses %s with a message for the operator', (_, make, words) => {
  const path = make()
  expect(() => openSqliteStorage({ path })).toThrow(SqliteOpenError)
  expect(() => openSqliteStorage({ path })).toThrow(words)
})

it.each([
  ['EACCES', /cannot be written; give this process write access/],
  ['SQLITE_READONLY_DIRECTORY', /cannot be written/],
  ['SQLITE_CORRUPT_INDEX', /SQLite reports damage .+ only if the check finds damage/],
  ['SQLITE_IOERR_FSYNC', /the disk failed while syncing the file \(SQLITE_IOERR_FSYNC\)/],
  ['SQLITE_IOERR_SHORT_READ', /the disk failed while reading the file/],
  ['SQLITE_BUSY', /is locked by another process/],
  ['SQLITE_FULL', /^the disk of \S+ is full; free some space on it\.$/],
  ['SQLITE_IOERR_SHMSIZE', /^the disk of \S+ is full/],
  ['SQLITE_IOERR', /the disk failed while using the file \(SQLITE_IOERR\)/],
  ['SQLITE_ERROR', /cannot be opened \(some detail\)/],
])('the message explains the error %s', (code, words) => {
  expect(
    explainOpenFailure('a.db', Object.assign(new Error('some detail'), { code })).message,
  ).toMatch(words)
})

it.each([
  [
    'built for another Node',
    Object.assign(new Error('was compiled against'), { code: 'ERR_DLOPEN_FAILED' }),
  ],
  ['not built at all', new Error('Could not locate the bindings file. Tried: many places')],
])('the message says what to do when the driver is %s', (_, cause) => {
  expect(explainOpenFailure('a.db', cause).message).toMatch(
    /^better-sqlite3 is not built for Node .*: run npm rebuild better-sqlite3\.$/,
  )
})

function logAlone(): string {
  const path = tempFile()
  writeFileSync(`${path}-wal`, 'the last commits')
  return path
}

function fileWith(content: string): string {
  const path = tempFile()
  writeFileSync(path, content)
  return path
}

function folder(): string {
  const path = tempFile('folder')
  mkdirSync(path)
  return path
}

function lockedByAFolder(): string {
  const path = tempFile()
  mkdirSync(`${path}-lock`)
  return path
}

function newerDatabase(): string {
  const path = tempFile()
  void openSqliteStorage({ path }).close()
  change(path, 'pragma user_version = 999; update schema_version set works_from = 999')
  return path
}

function foreignDatabase(): string {
  const path = tempFile()
  change(path, 'create table theirs (x)')
  return path
}

function change(path: string, sql: string): void {
  const db = new Database(path)
  db.exec(sql)
  db.close()
}

const LOST = /was deleted, renamed or replaced while this process had it open/

it.each<[string, (path: string) => void]>([
  ['is deleted', (path) => rmSync(path)],
  ['is renamed', (path) => renameSync(path, `${path}.moved`)],
  [
    'is replaced by a copy',
    (path) => {
      copyFileSync(path, `${path}.copy`)
      renameSync(`${path}.copy`, path)
    },
  ],
  ['loses its log', (path) => rmSync(`${path}-wal`)],
])('a file that %s under a running process accepts no write', async (_, lose) => {
  const path = tempFile()
  const reported: string[] = []
  const storage = openSqliteStorage({ path, onDamage: (sentence) => reported.push(sentence) })
  const project = aProject()
  expect((await storage.credentials.createProject(project)).ok).toBe(true)
  lose(path)
  for (let i = 0; i < 2; i++) {
    const created = await storage.credentials.createProject(aProject({ id: 'later' }))
    expect(unwrapError(created).reason).toMatch(LOST)
  }
  expect(unwrapError(await storage.ping()).reason).toMatch(LOST)
  expect(reported).toEqual([expect.stringMatching(LOST)])
  await storage.close()
})

it('a file that is moved back is used again, with every write before and after', async () => {
  const path = tempFile()
  const storage = openSqliteStorage({ path })
  await storage.credentials.createProject(aProject({ id: 'before' }))
  renameSync(path, `${path}.moved`)
  expect(!(await storage.ping()).ok).toBe(true)
  renameSync(`${path}.moved`, path)
  expect((await storage.ping()).ok).toBe(true)
  await storage.credentials.createProject(aProject({ id: 'after' }))
  await storage.close()
  const reopened = openSqliteStorage({ path })
  const listed = await reopened.credentials.listProjects({ limit: 10 })
  expect(unwrap(listed).data.map(({ id }) => id)).toEqual(['before', 'after'])
  await reopened.close()
})
