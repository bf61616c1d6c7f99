import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../test/test-postgres.js'
import { openPostgresStorage } from './index.js'
import { migrate } from './migrate.js'
import { migrations } from './migrations/index.js'

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

/** What the next release adds: a column that may be absent, as the rule for steps says. */
const newer = [...migrations, 'alter table agent_messaging.projects add column motto text']
/** And the one after that, which this release does not work with. */
const later = [...newer, `update agent_messaging.schema_version set works_from = ${newer.length}`]

describe('a rolling upgrade', () => {
  it('leaves the release before at work, and lets it start again', async () => {
    const [before, client] = [await openPostgresStorage({ connectionString }), await connected()]
    await migrate(client, newer)
    expect(
      (await before.credentials.createProject({ id: 'p', name: 'p', createdAt: 1 })).isOk(),
    ).toBe(true)
    const restarted = await openPostgresStorage({ connectionString })
    expect((await restarted.credentials.getProject('p'))._unsafeUnwrap()).toEqual({
      id: 'p',
      name: 'p',
      createdAt: 1,
    })
    expect(await version(client)).toBe(newer.length)
    await Promise.all([before.close(), restarted.close()])
  })

  it('refuses a release from before what the schema still works with', async () => {
    const client = await connected()
    await migrate(client, later)
    await expect(openPostgresStorage({ connectionString })).rejects.toThrow(
      `has version ${later.length}, written by a newer release`,
    )
  })

  it('of processes of two releases that start at once each finds the schema whole', async () => {
    const starting = await Promise.all(Array.from({ length: 6 }, connected))
    await Promise.all(
      starting.map((client, n) => migrate(client, n % 2 === 0 ? migrations : newer)),
    )
    expect(await version(await connected())).toBe(newer.length)
  })

  it('waits for who uses a table, and holds up nobody for long', async () => {
    const [client, user] = [await connected(), await connected()]
    await migrate(client, migrations)
    await user.query('begin; select 1 from agent_messaging.projects')
    const migrated = migrate(client, newer)
    // Behind the step's own wait, which ends first: it lets go, and this one has its turn.
    const another = await connected()
    await another.query('select pg_sleep(0.2)')
    expect((await another.query('select 1 from agent_messaging.projects')).rows).toEqual([])
    expect(await version(another)).toBe(migrations.length)
    await user.query('commit')
    await migrated
    expect(await version(client)).toBe(newer.length)
  })
})
