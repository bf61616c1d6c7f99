import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { arrayText } from './array-text.js'

let postgres: TestPostgres
let client: pg.Client
beforeAll(async () => {
  postgres = await testPostgres()
  client = new pg.Client({ connectionString: await postgres.database() })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await postgres.close()
})

/** Returns the array as PostgreSQL reads it. */
const readAs = async (type: string, elements: readonly unknown[]): Promise<unknown> =>
  (await client.query(`select $1::${type}[] as read`, [arrayText(elements)])).rows[0].read

const TEXTS = [
  '',
  ' ',
  'NULL',
  'a,b',
  '{}',
  '"',
  '\\',
  '\\"',
  '\\\\',
  "'",
  '\n\t',
  'é😀',
  '{"a":"b\\n"}',
]

it('an array of texts is read back unchanged, with its nulls', async () => {
  expect(await readAs('text', TEXTS)).toEqual(TEXTS)
  expect(await readAs('text', ['a', null, 'null'])).toEqual(['a', null, 'null'])
  expect(await readAs('text', [])).toEqual([])
})

it('an array of numbers or booleans is read back unchanged, with its nulls', async () => {
  expect(await readAs('bigint', [Number.MAX_SAFE_INTEGER, -1, null])).toEqual([
    String(Number.MAX_SAFE_INTEGER),
    '-1',
    null,
  ])
  expect(await readAs('float8', [0.5, 1e21])).toEqual([0.5, 1e21])
  expect(await readAs('boolean', [true, false, null])).toEqual([true, false, null])
})

it('an undefined element is a null, and other values are refused', async () => {
  expect(await readAs('text', ['a', undefined])).toEqual(['a', null])
  expect(() => arrayText([new Date(0)])).toThrow('contains a value of type object')
  expect(() => arrayText([['a']])).toThrow(TypeError)
})
