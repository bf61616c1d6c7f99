import { once } from 'node:events'
import { expect, it } from 'vitest'
import { start } from '../../test/process.js'
import { tempFile } from '../../test/temp-file.js'
import { openConnection } from '../database/connection.js'
import { SqliteOpenError } from '../database/errors.js'
import { migrate, migrations, NEWEST_VERSION, versionOf } from './migrate.js'
import { readSqliteSchema } from './schema-state.js'

const steps = ['create table first (x)', 'create table second (x)', 'create table third (x)']
const UNRELEASED = /was written by an unreleased commit, whose tables this version cannot read/

const tablesOf = (db: ReturnType<typeof openConnection>) =>
  db
    .prepare("select name from sqlite_master where name <> 'schema_migrations' order by name")
    .pluck()
    .all()

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
  migrate(db, [...migrations, next])
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

// Without the hash of a migration, a file has the tables of some earlier commit.
it.each([
  ['0x414d5347', 8],
  ['0x414d5753', 1],
])('a file of an unreleased commit (%s) is refused and not changed', (id, version) => {
  const path = tempFile()
  const db = openConnection(path, 0)
  db.exec(`create table messages (x); pragma user_version = ${version}`)
  db.pragma(`application_id = ${id}`)
  expect(() => migrate(db)).toThrow(UNRELEASED)
  expect(() => readSqliteSchema(path)).toThrow(UNRELEASED)
  expect(tablesOf(db)).toEqual(['messages'])
  expect(versionOf(db)).toBe(version)
  db.close()
})

it.each([0, 1])('a file is refused if its migration at place %d had another text', (place) => {
  const db = openConnection(tempFile(), 0)
  migrate(db, steps.slice(0, 2))
  expect(() => migrate(db, steps.with(place, 'create table changed (x)'))).toThrow(UNRELEASED)
  expect(tablesOf(db)).toEqual(['first', 'second'])
  migrate(db, steps.with(2, 'create table changed (x)'))
  expect(tablesOf(db)).toEqual(['changed', 'first', 'second'])
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
    start(new URL('../../test/die-in-migration.mjs', import.meta.url), path),
    'exit',
  )
  expect(signal).toBe('SIGKILL')
  const db = openConnection(path, 0)
  expect(tablesOf(db)).toEqual(['first'])
  migrate(db, steps)
  expect(tablesOf(db)).toEqual(['first', 'second', 'third'])
  db.close()
})
