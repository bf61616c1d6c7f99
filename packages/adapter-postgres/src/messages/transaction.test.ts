import { createService, type MessagingService } from '@org/agent-messaging-core'
import { fakePlatform, refusalOf } from '@org/agent-messaging-testing'
import type { EventEmitter } from 'node:events'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { inTransaction, openPostgresStorage } from '../index.js'

let postgres: TestPostgres
let pool: pg.Pool
let service: MessagingService
let projectId: string
beforeAll(async () => {
  postgres = await testPostgres()
})
beforeEach(async () => {
  pool = await postgres.pool()
  const storage = await openPostgresStorage({ pool })
  const platform = fakePlatform({
    handler: ({ message }) => ({ kind: 'answered', response: `re: ${message}` }),
  })
  service = createService({ ...platform, storage })
  await service.start()
  projectId = (await service.projects.create({ name: 'test' })).id
  await service.agents.create({
    projectId,
    name: 'bot',
    runtime: { kind: 'fake' },
    desiredState: 'running',
  })
  await pool.query('create table orders (id text primary key)')
  return async () => {
    await service.stop({ graceMs: 0 })
    await storage.close()
    await pool.end()
  }
})
afterAll(() => postgres.close())

const order = (message: string, more = {}) => ({
  projectId,
  agent: 'bot',
  sessionId: 's',
  message,
  ...more,
})
const messages = async () =>
  (await service.messages.list({ projectId, agent: 'bot', limit: 10 })).data
const orders = async () =>
  (await pool.query('select id from orders order by id')).rows.map(({ id }) => id as string)

/** The message about the client's transaction. */
async function mistakeOf(client: pg.PoolClient): Promise<string | undefined> {
  const sent = await refusalOf(
    service.messages.enqueue({ ...order('x'), transaction: inTransaction(client) }),
  )
  const refused = sent
  if (refused.kind !== 'invalid') return refused.kind
  expect(refused.issues).toMatchObject([{ path: 'transaction' }])
  return refused.issues[0]?.message
}

async function within(
  end: 'commit' | 'rollback',
  work: (client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await work(client)
    await client.query(end)
  } finally {
    client.release()
  }
}

describe("a message in a host's transaction", () => {
  it('exists after the commit and runs like any other', async () => {
    await within('commit', async (client) => {
      await client.query("insert into orders values ('o-1')")
      const sent = await service.messages.enqueue({
        ...order('o-1'),
        transaction: inTransaction(client),
      })
      expect(sent).toMatchObject({ attached: false, message: { state: { kind: 'queued' } } })
      expect(await messages()).toEqual([])
    })
    expect(await orders()).toEqual(['o-1'])
    // The fake clock stands still, so no poll finds the message.
    await expect
      .poll(messages)
      .toMatchObject([{ message: 'o-1', state: { kind: 'responded', response: 're: o-1' } }])
  })

  it('adds one listener to the connection, however many messages a transaction accepts', async () => {
    await within('commit', async (client) => {
      const { connection } = client as unknown as { readonly connection: EventEmitter }
      const before = connection.listenerCount('readyForQuery')
      for (let n = 0; n < 9; n++)
        await service.messages.enqueue({
          ...order(`o-${n}`),
          sessionId: `s-${n}`,
          transaction: inTransaction(client),
        })
      expect(connection.listenerCount('readyForQuery')).toBe(before + 1)
    })
    await expect
      .poll(async () => (await messages()).map(({ state }) => state.kind))
      .toEqual(Array.from({ length: 9 }, () => 'responded'))
  })

  it('brings its webhook, which gets the answer', async () => {
    const secret = `whsec_${btoa('x'.repeat(32))}`
    const webhook = { url: 'https://mine.example/', secret }
    await within('rollback', async (client) => {
      const sent = { ...order('o-0'), webhook, transaction: inTransaction(client) }
      await service.messages.enqueue(sent)
    })
    await within('commit', async (client) => {
      const sent = { ...order('o-1'), webhook, transaction: inTransaction(client) }
      await service.messages.enqueue(sent)
    })
    await expect
      .poll(async () => (await service.deliveries.list({ projectId, limit: 10 })).data)
      .toMatchObject([{ event: 'message.responded' }])
    const { rows } = await pool.query("select url from agent_messaging.webhooks where url <> ''")
    expect(rows).toEqual([{ url: webhook.url }])
  })

  it('does not exist after a rollback, and its key is free', async () => {
    const sent = order('o-1', { idempotencyKey: 'k' })
    await within('rollback', async (client) => {
      await client.query("insert into orders values ('o-1')")
      await service.messages.enqueue({ ...sent, transaction: inTransaction(client) })
    })
    expect([await orders(), await messages()]).toEqual([[], []])
    await within('commit', async (client) => {
      expect(
        (await service.messages.enqueue({ ...sent, transaction: inTransaction(client) })).attached,
      ).toBe(false)
    })
  })

  it('waits for another of its session, for longer than a batch would', async () => {
    let isOver = false
    let second: Promise<void> | undefined
    await within('commit', async (client) => {
      await service.messages.enqueue({ ...order('o-1'), transaction: inTransaction(client) })
      second = within('commit', async (other) => {
        await service.messages.enqueue({ ...order('o-2'), transaction: inTransaction(other) })
        expect(isOver).toBe(true)
      })
      await client.query('select pg_sleep(1.5)')
      isOver = true
    })
    await second
    expect(await messages()).toHaveLength(2)
  })

  it('is created once for a key, also by two transactions at once', async () => {
    const both = ['o-1', 'o-2'].map((id) =>
      within('commit', async (client) => {
        await client.query('insert into orders values ($1)', [id])
        await service.messages.enqueue({
          ...order('same', { idempotencyKey: 'k' }),
          transaction: inTransaction(client),
        })
      }),
    )
    await Promise.all(both)
    expect(await orders()).toEqual(['o-1', 'o-2'])
    expect(await messages()).toHaveLength(1)
  })

  it('blocks only its own session', async () => {
    const lockWaits =
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    const waiting = async () => (await pool.query(lockWaits)).rowCount
    const sent: string[] = []
    const send = (sessionId: string) =>
      service.messages
        .send({ ...order('x'), sessionId, waitMs: 0 })
        .then(() => sent.push(sessionId))
    const held: Promise<unknown>[] = []
    await within('commit', async (client) => {
      await service.messages.enqueue({ ...order('o-1'), transaction: inTransaction(client) })
      for (const count of [1, 2]) {
        held.push(send('s'))
        await expect.poll(waiting).toBe(count)
      }
      await send('another')
      expect(sent).toEqual(['another'])
    })
    await Promise.all(held)
    expect(sent).toEqual(['another', 's', 's'])
  })

  it('leaves the transaction usable when it is refused', async () => {
    await within('commit', async (client) => {
      await client.query("insert into orders values ('o-1')")
      const stores = inTransaction(client)
      expect(
        (await refusalOf(service.messages.enqueue({ ...order(''), transaction: stores }))).kind,
      ).toBe('invalid')
      expect(
        (
          await refusalOf(
            service.messages.enqueue({ ...order('x'), agent: 'nobody', transaction: stores }),
          )
        ).kind,
      ).toBe('agent_not_found')
    })
    expect(await orders()).toEqual(['o-1'])
  })

  it.each(['serializable', 'repeatable read'])('refuses a %s transaction', async (level) => {
    await within('commit', async (client) => {
      await client.query(`set transaction isolation level ${level}`)
      await client.query("insert into orders values ('o-1')")
      expect(await mistakeOf(client)).toBe(
        'must be READ COMMITTED, and has another isolation level',
      )
    })
    expect(await orders()).toEqual(['o-1'])
  })

  it('refuses a client without a transaction, or with one that has failed', async () => {
    const client = await pool.connect()
    expect(await mistakeOf(client)).toBe('must be open: send BEGIN on this client first')
    await client.query('begin')
    await expect(client.query('select 1 / 0')).rejects.toThrow('division by zero')
    expect(await mistakeOf(client)).toBe('has failed: send ROLLBACK, and begin again')
    await client.query('rollback')
    client.release()
    expect(await messages()).toEqual([])
  })
})
