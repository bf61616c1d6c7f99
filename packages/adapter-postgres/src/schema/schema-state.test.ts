import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openPostgresStorage, readPostgresSchema } from '../index.js'

let server: TestPostgres
beforeAll(async () => {
  server = await testPostgres()
})
afterAll(() => server.close())

it('readPostgresSchema returns the version and changes nothing', async () => {
  const connectionString = await server.database()
  const { newest } = await readPostgresSchema({ connectionString })
  expect(newest).toBeGreaterThan(0)
  expect(await readPostgresSchema({ connectionString })).toEqual({
    version: 0,
    newest,
    worksFrom: 0,
  })

  await (await openPostgresStorage({ connectionString })).close()
  expect(await readPostgresSchema({ connectionString })).toEqual({
    version: newest,
    newest,
    worksFrom: 1,
  })

  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query('update agent_messaging.schema_version set version = 99')
  await client.end()
  expect((await readPostgresSchema({ connectionString })).version).toBe(99)
})

it('readPostgresSchema names a missing server without the password', async () => {
  const reading = readPostgresSchema({ connectionString: 'postgres://me:hush@127.0.0.1:9/db' })
  await expect(reading).rejects.toThrow(/^postgres:\/\/127\.0\.0\.1:9\/db: no server listens there/)
})
