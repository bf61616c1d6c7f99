import { unwrap, unwrapError } from '@org/agent-messaging-testing'
import { all, one, run, type Operation, type Sql } from '@org/agent-messaging-sql-kit'
import { expect, it, onTestFinished } from 'vitest'
import { GroupCommitter } from './group-committer.js'
import { openConnection } from './connection.js'
import { migrate } from '../schema/migrate.js'
import { performer, runnerOf } from './operations.js'

type Row = { readonly n: number | null }

const insert: Sql<{ readonly n: unknown }, Row> = () =>
  'insert into numbers values (@n) returning n'
const numbers: Sql<object, Row> = () => 'select n from numbers order by n'
const oneOf: Sql<{ readonly list: readonly number[] }, Row> = ({ each }) =>
  `select value as n from ${each('list')}`

function store() {
  const db = openConnection(':memory:', 0)
  onTestFinished(() => void db.close())
  migrate(db)
  db.exec('create table numbers (n integer unique)')
  return runnerOf(new GroupCommitter(db, { maxQueued: 9, busyTimeoutMs: 0 }), performer(db))
}

it('an operation starts again when its transaction is repeated without a failed one', async () => {
  const { read, write } = store()
  let runs = 0
  const add = write(function* (n: number): Operation<number> {
    runs++
    const before = (yield* all(numbers, {})).length
    yield* run(insert, { n })
    return before
  })
  const [first, failed, last] = await Promise.all([add(1), add(1), add(2)])
  expect(unwrap(first)).toBe(0)
  expect(unwrapError(failed).reason).toContain('UNIQUE')
  expect(unwrap(last)).toBe(1)
  expect(runs).toBe(5)
  const stored = await read(() => all(numbers, {}))()
  expect(unwrap(stored)).toEqual([{ n: 1 }, { n: 2 }])
})

it('parameters can be booleans, lists and undefined', async () => {
  const { read, write } = store()
  const add = write((n: unknown) => one(insert, { n }))
  expect(unwrap(await add(true))).toEqual({ n: 1 })
  expect(unwrap(await add(undefined))).toEqual({ n: null })
  const found = await read(() => all(oneOf, { list: [3, 4] }))()
  expect(unwrap(found)).toEqual([{ n: 3 }, { n: 4 }])
})
