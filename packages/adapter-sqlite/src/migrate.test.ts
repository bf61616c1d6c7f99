import { once } from 'node:events'
import { expect, it } from 'vitest'
import { start } from '../test/process.js'
import { tempFile } from '../test/temp-file.js'
import { openConnection } from './connection.js'
import { migrate } from './migrate.js'
import { SqliteOpenError } from './open-error.js'

const steps = ['create table first (x)', 'create table second (x)', 'create table third (x)']

const tablesOf = (db: ReturnType<typeof openConnection>) =>
  db.prepare('select name from sqlite_master order by name').pluck().all()

it('goes on from the version that the file has', () => {
  const db = openConnection(tempFile(), 0)
  migrate(db, steps.slice(0, 1))
  migrate(db, steps)
  migrate(db, steps)
  expect(tablesOf(db)).toEqual(['first', 'second', 'third'])
  expect(db.pragma('user_version', { simple: true })).toBe(3)
  db.close()
})

it('refuses a newer schema and leaves it as it is', () => {
  const db = openConnection(tempFile(), 0)
  migrate(db, steps)
  expect(() => migrate(db, steps.slice(0, 2))).toThrow(
    /has schema version 3, written by a newer release; this one knows versions up to 2/,
  )
  expect(db.pragma('user_version', { simple: true })).toBe(3)
  db.close()
})

it("refuses another application's database", () => {
  const db = openConnection(tempFile(), 0)
  db.exec('create table theirs (x); pragma user_version = 1')
  expect(() => migrate(db, steps)).toThrow(SqliteOpenError)
  expect(tablesOf(db)).toEqual(['theirs'])
  db.close()
})

it('a step that fails leaves nothing of itself', () => {
  const db = openConnection(tempFile(), 0)
  expect(() =>
    migrate(db, ['create table first (x)', 'create table second (x); create table first (x)']),
  ).toThrow(/already exists/)
  expect(tablesOf(db)).toEqual(['first'])
  expect(db.pragma('user_version', { simple: true })).toBe(1)
  db.close()
})

it('killed half-way it leaves the version before, and the next start finishes', async () => {
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
