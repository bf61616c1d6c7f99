import { once } from 'node:events'
import { expect, it } from 'vitest'
import { start } from '../test/process.js'
import { tempFile } from '../test/temp-file.js'
import { openConnection } from './connection.js'
import { migrate, NEWEST_VERSION, versionOf } from './migrate.js'
import { readSqliteSchema } from './schema.js'
import { SqliteOpenError } from './errors.js'

const steps = ['create table first (x)', 'create table second (x)', 'create table third (x)']

const tablesOf = (db: ReturnType<typeof openConnection>) =>
  db.prepare('select name from sqlite_master order by name').pluck().all()

it('migrate continues from the version of the file', () => {
  const db = openConnection(tempFile(), 0)
  migrate(db, steps.slice(0, 1))
  migrate(db, steps)
  migrate(db, steps)
  expect(tablesOf(db)).toEqual(['first', 'second', 'third'])
  expect(db.pragma('user_version', { simple: true })).toBe(3)
  db.close()
})

it('migrate refuses a newer schema and does not change it', () => {
  const db = openConnection(tempFile(), 0)
  migrate(db, steps)
  expect(() => migrate(db, steps.slice(0, 2))).toThrow(
    /has schema version 3, written by a newer release; this one knows versions up to 2/,
  )
  expect(db.pragma('user_version', { simple: true })).toBe(3)
  db.close()
})

it('migrate accepts a newer schema that works with an older release', () => {
  const db = openConnection(tempFile(), 0)
  const next = 'alter table projects add column note text'
  migrate(db)
  migrate(db, [...Array<string>(NEWEST_VERSION), next])
  migrate(db)
  expect(versionOf(db)).toBe(NEWEST_VERSION + 1)
  db.exec(`update schema_version set works_from = ${NEWEST_VERSION + 1}`)
  expect(() => migrate(db)).toThrow(/written by a newer release/)
  expect(versionOf(db)).toBe(NEWEST_VERSION + 1)
  db.close()
})

it("migrate refuses another application's database", () => {
  const db = openConnection(tempFile(), 0)
  db.exec('create table theirs (x); pragma user_version = 1')
  expect(() => migrate(db, steps)).toThrow(SqliteOpenError)
  expect(tablesOf(db)).toEqual(['theirs'])
  db.close()
})

it('a file of an unreleased commit is refused and not changed', () => {
  const path = tempFile()
  const db = openConnection(path, 0)
  db.exec('create table messages (x); pragma user_version = 8')
  db.pragma('application_id = 0x414d5347')
  const reason = /was written by an unreleased commit, whose tables this version cannot read/
  expect(() => migrate(db)).toThrow(reason)
  expect(() => readSqliteSchema(path)).toThrow(reason)
  expect(tablesOf(db)).toEqual(['messages'])
  expect(db.pragma('user_version', { simple: true })).toBe(8)
  db.close()
})

it('a failed step changes nothing', () => {
  const db = openConnection(tempFile(), 0)
  expect(() =>
    migrate(db, ['create table first (x)', 'create table second (x); create table first (x)']),
  ).toThrow(/already exists/)
  expect(tablesOf(db)).toEqual(['first'])
  expect(db.pragma('user_version', { simple: true })).toBe(1)
  db.close()
})

it('a process killed during a step leaves the previous version, and the next start finishes', async () => {
  const path = tempFile()
  const [, signal] = await once(
    start(new URL('../test/die-in-migration.mjs', import.meta.url), path),
    'exit',
  )
  expect(signal).toBe('SIGKILL')
  const db = openConnection(path, 0)
  expect(tablesOf(db)).toEqual(['first'])
  migrate(db, steps)
  expect(tablesOf(db)).toEqual(['first', 'second', 'third'])
  db.close()
})
