import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { anAgent, aProject, newMessage, unwrap } from '@org/agent-messaging-testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../test/test-postgres.js'
import { explainOpenFailure } from './database/errors.js'
import { schema } from './schema/schema.js'
import { openPostgresStorage, PostgresOpenError } from './index.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

const nameOf = (url: string): string => new URL(url).pathname.slice(1)

async function query<Row extends pg.QueryResultRow>(
  connectionString: string,
  text: string,
): Promise<Row[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

describe('opening', () => {
  it('creates the schema once when many processes start at once', async () => {
    const connectionString = await postgres.database()
    const storages = await Promise.all(
      Array.from({ length: 8 }, () => openPostgresStorage({ connectionString, maxConnections: 1 })),
    )
    expect(
      await query(connectionString, 'select version from agent_messaging.schema_version'),
    ).toEqual([{ version: schema.migrations.length }])
    for (const storage of storages) {
      expect((await storage.ping()).ok).toBe(true)
      await storage.close()
    }
  })

  it('keeps the data of an earlier storage', async () => {
    const connectionString = await postgres.database()
    const project = aProject()
    const first = await openPostgresStorage({ connectionString })
    unwrap(await first.credentials.createProject(project))
    await first.close()
    const second = await openPostgresStorage({ connectionString })
    expect(unwrap(await second.credentials.getProject(project.id))).toEqual(project)
    await second.close()
  })

  it("uses a host's pool beside the host's tables, and leaves the pool open", async () => {
    const pool = await postgres.pool({
      max: 2,
      options: '-c default_transaction_isolation=serializable',
    })
    await pool.query('create table messages (text text)')
    const [storage, agent] = [await openPostgresStorage({ pool }), anAgent()]
    expect((await storage.ping()).ok).toBe(true)
    // With another default isolation level, too, concurrent sends with one key see each other.
    unwrap(await storage.agents.create(agent, 1_000))
    const sends = Array.from({ length: 8 }, () =>
      storage.messages.accept(newMessage(agent, { idempotencyKey: 'key' })),
    )
    const kinds = (await Promise.all(sends)).map((accepted) => unwrap(accepted).kind)
    expect(kinds.sort()).toEqual(['created', ...Array.from({ length: 7 }, () => 'existing')])
    await storage.close()
    expect((await pool.query('select * from messages')).rows).toEqual([])
    // A host can open the storage repeatedly.
    expect([pool.listenerCount('error'), pool.listenerCount('connect')]).toEqual([1, 0])
    await pool.end()
  })

  it('names the missing right, for an empty database and for a schema of another user', async () => {
    const url = await postgres.database()
    const user = `powerless_${process.pid}`
    await query(url, `create role ${user} login password 'x'`)
    const connectionString = Object.assign(new URL(url), { username: user, password: 'x' }).href
    const refused = (what: string) =>
      expect(openPostgresStorage({ connectionString })).rejects.toThrow(
        `this user lacks a right (permission denied for ${what}); make it the owner of the schema agent_messaging`,
      )
    await refused(`database ${nameOf(url)}`)
    await (await openPostgresStorage({ connectionString: url })).close()
    await refused('schema agent_messaging')
    await query(url, `drop role ${user}`)
  })

  it('works for a user without CREATE in a schema that an administrator created', async () => {
    const url = await postgres.database()
    const user = `limited_${process.pid}`
    await query(url, `create role ${user} login password 'x'`)
    await query(url, `create schema agent_messaging authorization ${user}`)
    const storage = await openPostgresStorage({
      connectionString: Object.assign(new URL(url), { username: user, password: 'x' }).href,
    })
    expect((await storage.ping()).ok).toBe(true)
    await storage.close()
    await query(url, `drop owned by ${user} cascade; drop role ${user}`)
  })
})

describe('opening refuses, in one line without the password,', () => {
  const refusal = async (connectionString: string): Promise<string> => {
    const error: unknown = await openPostgresStorage({ connectionString }).then(
      (storage) => storage.close(),
      (reason: unknown) => reason,
    )
    if (!(error instanceof PostgresOpenError)) throw new Error('the storage was opened')
    const { password } = URL.canParse(connectionString)
      ? new URL(connectionString)
      : { password: 'hunter2' }
    expect(error.message).not.toContain(`:${password}@`)
    expect(error.message).not.toContain('\n')
    return error.message
  }

  it('a database without synchronous commits', async () => {
    const url = await postgres.database()
    await query(url, `alter database ${nameOf(url)} set synchronous_commit = off`)
    expect(await refusal(url)).toMatch(
      /^postgres:\/\/.+\/test_\w+: synchronous_commit is off here; turn it on/,
    )
  })

  it('a schema of a newer release', async () => {
    const connectionString = await postgres.database()
    await (await openPostgresStorage({ connectionString })).close()
    await query(
      connectionString,
      'update agent_messaging.schema_version set version = 1000, works_from = 1000',
    )
    expect(await refusal(connectionString)).toContain(
      'has version 1000, written by a newer release',
    )
  })

  it('a database in another encoding', async () => {
    const url = await postgres.database()
    const name = `${nameOf(url)}_latin`
    await query(url, `create database ${name} encoding 'LATIN1' locale 'C' template template0`)
    const other = Object.assign(new URL(url), { pathname: `/${name}` }).href
    expect(await refusal(other)).toContain('is encoded as LATIN1')
    await query(url, `drop database ${name}`)
  })

  it.each([
    [
      'a port without a server',
      (url: URL) => Object.assign(url, { port: '1' }),
      'no server listens there',
    ],
    [
      'a missing database',
      (url: URL) => Object.assign(url, { pathname: '/nowhere' }),
      'this database does not exist',
    ],
    ['a missing user', (url: URL) => Object.assign(url, { username: 'nobody' }), 'user'],
    [
      'a server without a certificate',
      (url: URL) => Object.assign(url, { search: '?sslmode=require' }),
      'SSL',
    ],
  ])('%s', async (_, change, words) => {
    expect(await refusal(change(new URL(await postgres.database())).href)).toContain(words)
  })

  it('a proxy that closes every connection', async () => {
    const front = createServer((socket) => socket.end()).listen(0, '127.0.0.1')
    await once(front, 'listening')
    expect(
      await refusal(`postgres://127.0.0.1:${(front.address() as AddressInfo).port}/app`),
    ).toContain('closes the connection at once; check that')
    front.close()
  })

  it.each([
    [
      'EAI_AGAIN',
      'getaddrinfo EAI_AGAIN db',
      'cannot be opened (EAI_AGAIN: getaddrinfo EAI_AGAIN db).',
    ],
    [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'self-signed certificate',
      'its certificate is not trusted (self-signed certificate); add the issuer',
    ],
    [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'Host: db. is not',
      'its certificate is not trusted (Host: db. is not); add',
    ],
    [
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'unable to verify',
      'its certificate is not trusted (unable to verify); add',
    ],
    ['ERR_INVALID_URL', 'postgres://me:hunter2@db', 'cannot be opened; check the URL.'],
  ])('%s with an explanation', (code, message, words) => {
    expect(
      explainOpenFailure('postgres://db/app', Object.assign(new Error(message), { code })).message,
    ).toContain(`postgres://db/app: ${words}`)
  })

  it('an invalid URL', async () => {
    expect(await refusal('postgres://me:hunter2@host:port/app')).toBe(
      'the PostgreSQL URL: cannot be opened; check the URL.',
    )
  })
})
