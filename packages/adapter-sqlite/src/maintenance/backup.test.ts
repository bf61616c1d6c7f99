import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { backupSqlite, openSqliteStorage } from '../index.js'

let directory: string
const file = (name: string): string => path.join(directory, name)
beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'backup-'))
  await openSqliteStorage({ path: file('service.db') }).close()
})
afterEach(() => rmSync(directory, { recursive: true }))

it('a backup leaves other files alone, and only its owner can read the copy', async () => {
  writeFileSync(file('copy.db.partial'), 'mine')
  await backupSqlite({ path: file('service.db'), to: file('copy.db') })
  expect(readFileSync(file('copy.db.partial'), 'utf8')).toBe('mine')
  expect(statSync(file('copy.db')).mode & 0o777).toBe(0o600)
})

it.each([
  ['during the copy', () => true],
  ['before the last step of the copy', (copied: number, total: number) => copied + 1_000 >= total],
])('a backup that is aborted %s leaves no file', async (_, isThen) => {
  new Database(file('service.db'))
    .exec('create table much as select zeroblob(10000000) as bytes')
    .close()
  const stop = new AbortController()
  const onProgress = (copied: number, total: number): void =>
    void (isThen(copied, total) && setImmediate(() => stop.abort('enough')))
  const work = backupSqlite({
    path: file('service.db'),
    to: file('copy.db'),
    onProgress,
    signal: stop.signal,
  })
  await expect(work).rejects.toBe('enough')
  expect(readdirSync(directory).filter((name) => name.startsWith('copy'))).toEqual([])
})

it('a backup does not start again when other processes write, and shows the moment of its start', async () => {
  const writer = new Database(file('service.db')).exec(
    'create table much as select zeroblob(20000000) as bytes; create table more (row)',
  )
  const steps: number[] = []
  const onProgress = (copied: number): void => {
    if (steps.push(copied) <= 5) writer.exec('insert into more values (1)')
  }
  await backupSqlite({ path: file('service.db'), to: file('copy.db'), onProgress })
  writer.close()
  expect(steps.length).toBeGreaterThan(3)
  expect(steps).toEqual(steps.toSorted((one, other) => one - other))
  expect(new Database(file('copy.db')).prepare('select count(*) as rows from more').get()).toEqual({
    rows: 0,
  })
})

it('the error names the database when the database cannot be opened', async () => {
  await expect(backupSqlite({ path: directory, to: file('copy.db') })).rejects.toThrow(
    `${directory}: the disk failed while`,
  )
  expect(readdirSync(directory).filter((name) => name.startsWith('copy'))).toEqual([])
})
