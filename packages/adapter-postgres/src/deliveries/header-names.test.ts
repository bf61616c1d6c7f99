import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { queriesOn } from '../database/gateway.js'
import { openPostgresStorage } from '../index.js'
import { headerNames } from './header-names.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

it('keeps the names of all of a batch, also when it forgets what it knew before', async () => {
  const pool = await postgres.pool()
  onTestFinished(() => pool.end())
  await (await openPostgresStorage({ pool })).close()
  const [db, names] = [queriesOn(pool), headerNames(2)]
  const seqsOf = async (...all: string[]) =>
    (
      await names.columnsOf(
        db,
        all.map((name) => ({ [name]: 'value' })),
      )
    ).map(({ headerNamesSeq }) => headerNamesSeq)
  const [a, b, c] = await seqsOf('a', 'b', 'c')
  for (const _ of ['inserted', 'found', 'known'])
    expect(await seqsOf('a', 'b', 'c')).toEqual([a, b, c])
  expect(await Promise.all([seqsOf('a', 'b'), seqsOf('c', 'd')])).toEqual([
    [a, b],
    [c, expect.any(Number)],
  ])
  expect(await seqsOf('a', 'e')).toEqual([a, expect.any(Number)])
})
