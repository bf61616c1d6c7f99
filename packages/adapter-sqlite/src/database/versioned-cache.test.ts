import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openConnection } from './connection.js'
import { VersionedCache } from './versioned-cache.js'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'versioned-cache-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function open() {
  const db = openConnection(join(folder, 'test.db'), 1_000)
  db.exec('create table if not exists words (name text primary key, word text)')
  const select = db.prepare<[string], string>('select word from words where name = ?').pluck()
  const cache = new VersionedCache<string, string | undefined>(db)
  let loads = 0
  const load = (name: string) => () => {
    loads++
    return select.get(name)
  }
  return { db, cache, read: (name: string) => cache.get(name, load(name)), loads: () => loads }
}

it('the cache loads a value once until this connection clears it', async () => {
  const { db, cache, read, loads } = open()
  db.exec("insert into words values ('a', 'one')")
  expect([read('a'), read('a'), loads()]).toEqual(['one', 'one', 1])
  db.exec("update words set word = 'two'")
  cache.clear()
  expect([read('a'), loads()]).toEqual(['two', 2])
})

it('the cache sees a commit of another connection in the next turn of the event loop', async () => {
  const one = open()
  const other = open()
  one.db.exec("insert into words values ('a', 'one')")
  expect(one.read('a')).toBe('one')
  other.db.exec("update words set word = 'two'")
  expect(one.read('a')).toBe('one')
  await setImmediate()
  expect(one.read('a')).toBe('two')
})

it('the cache does not store a missing value', () => {
  const { db, read } = open()
  expect(read('a')).toBeUndefined()
  db.exec("insert into words values ('a', 'one')")
  expect(read('a')).toBe('one')
})

it('the cache loads values again in a transaction that writes, and does not store them', async () => {
  const { db, cache, read } = open()
  db.exec("insert into words values ('a', 'one')")
  expect(read('a')).toBe('one')
  db.exec("begin immediate; update words set word = 'two'")
  cache.clear()
  expect(read('a')).toBe('two')
  db.exec('rollback')
  await Promise.resolve()
  expect(read('a')).toBe('one')
})

it('the cache sees in a transaction what other connections committed before it', () => {
  const one = open()
  const other = open()
  one.db.exec("insert into words values ('a', 'one')")
  expect(one.read('a')).toBe('one')
  other.db.exec("update words set word = 'two'")
  one.db.exec('begin immediate')
  expect([one.read('a'), one.read('a'), one.loads()]).toEqual(['two', 'two', 2])
})
