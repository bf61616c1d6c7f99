import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openConnection } from './connection.js'
import { versionedCache } from './versioned-cache.js'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'versioned-cache-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function open() {
  const db = openConnection(join(folder, 'test.db'), 1_000)
  db.exec('create table if not exists words (name text primary key, word text)')
  const select = db.prepare<[string], string>('select word from words where name = ?').pluck()
  const cache = versionedCache<string, string | undefined>(db)
  let looks = 0
  const load = (name: string) => () => {
    looks++
    return select.get(name)
  }
  return { db, cache, read: (name: string) => cache.get(name, load(name)), looks: () => looks }
}

it('looks once, until this connection says that it writes', async () => {
  const { db, cache, read, looks } = open()
  db.exec("insert into words values ('a', 'one')")
  expect([read('a'), read('a'), looks()]).toEqual(['one', 'one', 1])
  db.exec("update words set word = 'two'")
  cache.clear()
  expect([read('a'), looks()]).toEqual(['two', 2])
})

it('sees what another connection has committed from the next turn of the event loop on', async () => {
  const [one, other] = [open(), open()]
  one.db.exec("insert into words values ('a', 'one')")
  expect(one.read('a')).toBe('one')
  other.db.exec("update words set word = 'two'")
  expect(one.read('a')).toBe('one')
  await setImmediate()
  expect(one.read('a')).toBe('two')
})

it('does not remember what is not there', () => {
  const { db, read } = open()
  expect(read('a')).toBeUndefined()
  db.exec("insert into words values ('a', 'one')")
  expect(read('a')).toBe('one')
})

it('looks again within a transaction that writes, and keeps nothing of what may be rolled back', async () => {
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

it('sees within a transaction what others committed before it', () => {
  const [one, other] = [open(), open()]
  one.db.exec("insert into words values ('a', 'one')")
  expect(one.read('a')).toBe('one')
  other.db.exec("update words set word = 'two'")
  one.db.exec('begin immediate')
  expect([one.read('a'), one.read('a'), one.looks()]).toEqual(['two', 'two', 2])
})
