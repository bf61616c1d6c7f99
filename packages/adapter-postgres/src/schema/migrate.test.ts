import { unwrap } from '@org/agent-messaging-testing'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openPostgresStorage, readPostgresSchema } from '../index.js'
import { migrate } from './migrate.js'
import { schema, type Schema } from './schema.js'

let postgres: TestPostgres
let connectionString: string
const clients: pg.Client[] = []
beforeAll(async () => {
  postgres = await testPostgres()
})
beforeEach(async () => {
  connectionString = await postgres.database()
})
afterAll(async () => {
  for (const client of clients) await client.end()
  await postgres.close()
})

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  clients.push(client)
  await client.connect()
  return client
}

const version = async (client: pg.Client): Promise<number | undefined> =>
  (await client.query<{ version: number }>('select version from agent_messaging.schema_version'))
    .rows[0]?.version

/** The text of each function in the database, and the transaction that wrote it. */
async function functionsIn(client: pg.Client): Promise<Map<string, { text: string; by: string }>> {
  const { rows } = await client.query<{ name: string; text: string; by: string }>(`
    select proname as name, prosrc as text, xmin::text as by from pg_proc
    where pronamespace = 'agent_messaging'::regnamespace`)
  return new Map(rows.map(({ name, ...row }) => [name, row]))
}

const CHANGED = 'subscribers'
const changedText = (text: string): string => text.replace('begin\n', 'begin\n  -- changed\n')
/** The next release: a column that can be null, and a function with another text. */
const newer: Schema = {
  migrations: [...schema.migrations, 'alter table agent_messaging.projects add column motto text'],
  functions: { ...schema.functions, [CHANGED]: changedText(schema.functions[CHANGED] ?? '') },
}
/** The release after that, which the current release does not work with. */
const later: Schema = {
  ...newer,
  migrations: [
    ...newer.migrations,
    `update agent_messaging.schema_version set works_from = ${newer.migrations.length}`,
  ],
}

describe('a rolling upgrade', () => {
  it('leaves the previous release working and able to restart', async () => {
    const before = await openPostgresStorage({ connectionString })
    const client = await connected()
    await migrate(client, newer)
    const project = { id: 'p', name: 'p', createdAt: 1 }
    expect((await before.credentials.createProject(project)).ok).toBe(true)
    const restarted = await openPostgresStorage({ connectionString })
    expect(unwrap(await restarted.credentials.getProject('p'))).toEqual(project)
    expect(await version(client)).toBe(newer.migrations.length)
    await Promise.all([before.close(), restarted.close()])
  })

  it('applies the functions with a changed text, and a restart of the previous release restores none', async () => {
    const client = await connected()
    await migrate(client, schema)
    const before = await functionsIn(client)
    await migrate(client, newer)
    const after = await functionsIn(client)
    const changed = [...after].filter(([name, { by }]) => before.get(name)?.by !== by)
    expect(changed.map(([name]) => name)).toEqual([CHANGED])
    expect(after.get(CHANGED)?.text).toContain('-- changed')
    await migrate(client, schema)
    expect(await functionsIn(client)).toEqual(after)
  })

  it('refuses a release that is too old for the schema', async () => {
    const client = await connected()
    await migrate(client, later)
    await expect(openPostgresStorage({ connectionString })).rejects.toThrow(
      `has version ${later.migrations.length}, written by a newer release`,
    )
  })

  it('gives processes of two releases that start at once the schema of the newer one', async () => {
    const starting = await Promise.all(Array.from({ length: 6 }, connected))
    await Promise.all(starting.map((client, n) => migrate(client, n % 2 === 0 ? schema : newer)))
    const client = await connected()
    expect(await version(client)).toBe(newer.migrations.length)
    const functions = await functionsIn(client)
    expect([...functions.keys()].sort()).toEqual(Object.keys(newer.functions).sort())
    expect(functions.get(CHANGED)?.text).toContain('-- changed')
  })

  it('waits for a transaction that uses a table, and blocks other statements only briefly', async () => {
    const client = await connected()
    const user = await connected()
    await migrate(client, schema)
    await user.query('begin; select 1 from agent_messaging.projects')
    const migrated = migrate(client, newer)
    // Queues behind the migration, which gives up its place after a second.
    const another = await connected()
    await another.query('select pg_sleep(0.2)')
    expect((await another.query('select 1 from agent_messaging.projects')).rows).toEqual([])
    expect(await version(another)).toBe(schema.migrations.length)
    await user.query('commit')
    await migrated
    expect(await version(client)).toBe(newer.migrations.length)
  })
})

describe('a database that an unreleased commit made', () => {
  it.each([
    ['has no record of its texts', 'drop table agent_messaging.schema_texts'],
    [
      'has another function',
      "update agent_messaging.schema_texts set hash = '' where name = 'subscribers'",
    ],
    [
      'has another migration',
      "update agent_messaging.schema_texts set hash = '' where name = 'migration 1'",
    ],
    [
      'has no hash of a migration',
      "delete from agent_messaging.schema_texts where name = 'migration 1'",
    ],
  ])('is refused with the reason if it %s, and stays as it is', async (_, change) => {
    const client = await connected()
    await migrate(client, schema)
    await client.query(`${change}; insert into agent_messaging.projects
      (id, name, created_at) values ('p', 'p', 1)`)
    const refusal = 'an unreleased commit of this project made the schema agent_messaging'
    await expect(openPostgresStorage({ connectionString })).rejects.toThrow(refusal)
    await expect(readPostgresSchema({ connectionString })).rejects.toThrow(refusal)
    expect((await client.query('select id from agent_messaging.projects')).rowCount).toBe(1)
  })

  it('is refused also beside a newer version, if an earlier migration differs', async () => {
    const client = await connected()
    await migrate(client, { ...newer, migrations: [`${newer.migrations[0]};`, ''] })
    await expect(openPostgresStorage({ connectionString })).rejects.toThrow('migration 1 differs')
  })
})

describe('a function', () => {
  it.each(Object.entries(schema.functions))('%s has its name in its text', (name, text) => {
    expect(text.trim()).toMatch(
      new RegExp(`^create or replace function agent_messaging\\.${name}\\(`),
    )
  })
})

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
