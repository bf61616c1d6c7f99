import pg from 'pg'
import { describe, expect, it, type TestContext } from 'vitest'
import { testPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { otherClock } from './clock.js'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const HOUR_MS = 3_600_000

const AGENTS = `export default {
  slow: ({ message }) => new Promise((answer) => setTimeout(answer, 3_000, message)),
  echo: ({ message }) => message,
}`

/** A server with one agent. Its environment can change before its next start. */
async function scene(
  { onTestFinished }: TestContext,
  variables: Readonly<Record<string, string>>,
  handler = 'slow',
) {
  const env: Record<string, string> = {
    SERVICE_WEBHOOK_RETRY_SCHEDULE: '3s',
    ...otherClock(variables),
  }
  const server = await realServer({ agents: AGENTS, env })
  onTestFinished(server.dispose)
  const agent = { name: 'agent', runtime: { kind: 'function', handler }, desiredState: 'running' }
  expect((await server.api('POST', '/v1/agents', agent)).status).toBe(201)
  const send = () =>
    server.api('POST', '/v1/agents/agent/messages', { sessionId: 's', message: 'hello' })
  const jump = (): void => jumpOf(server)
  return { server, env, send, jump }
}

const jumpOf = (server: RealServer): void => void process.kill(server.pid() ?? 0, 'SIGUSR2')

/** A webhook whose receiver refuses the first request. */
async function failingOnce({ onTestFinished }: TestContext, server: RealServer) {
  const hook = await receiver((n) => (n === 0 ? 500 : 200))
  onTestFinished(hook.close)
  const webhook = { url: hook.url, events: ['message.responded'] }
  expect((await server.api('POST', '/v1/webhooks', webhook)).status).toBe(201)
  return hook
}

const STEPS_MS = [30_000, -30_000, -30_000]

/** The variables of servers on one file, and on one PostgreSQL whose clock jumps with them. */
const STORES = {
  SQLite: async () => ({ env: {}, jump: async () => undefined }),
  PostgreSQL: async ({ onTestFinished }: TestContext) => {
    const postgres = await testPostgres()
    onTestFinished(() => postgres.close())
    const url = await postgres.database()
    const client = new pg.Client(url)
    await client.connect()
    onTestFinished(() => client.end())
    await client.query(`
      create schema other_clock;
      create table other_clock.off_by (ms integer);
      insert into other_clock.off_by values (0);
      create function other_clock.clock_timestamp() returns timestamptz language sql as
        $$ select pg_catalog.clock_timestamp() + ms * interval '1 ms' from other_clock.off_by $$;
      do $$ begin
        execute format('alter database %I set search_path = other_clock, pg_catalog, public',
          current_database());
      end $$`)
    const jump = (byMs: number) =>
      client.query('update other_clock.off_by set ms = ms + $1', [byMs])
    return { env: { SERVICE_DATABASE_URL: url }, jump }
  },
} as const

describe.concurrent('the time of day', () => {
  it.for([HOUR_MS, -HOUR_MS])(
    'a run goes on when the clock jumps by %d ms, and is not repeated',
    async (byMs, test) => {
      const { server, send, jump } = await scene(test, { CLOCK_JUMPS_MS: `${byMs}` })
      const sent = send()
      const isRunning = async (): Promise<boolean> => {
        const { data } = (await (await server.api('GET', '/v1/agents/agent/messages')).json()) as {
          data: { attempt: number }[]
        }
        return data[0]?.attempt === 1
      }
      expect(await until(isRunning)).toBe(true)
      jump()
      const answer = await sent
      expect([answer.status, await answer.json()]).toMatchObject([200, { response: 'hello' }])
      const list = await server.api('GET', '/v1/agents/agent/messages')
      expect(await list.json()).toMatchObject({ data: [{ attempt: 1 }] })
      expect(await until(() => server.output().includes('clock.jumped'))).toBe(true)
    },
  )

  it('a retry is in time when the clock jumps back an hour', async (test) => {
    const { server, send, jump } = await scene(test, { CLOCK_JUMPS_MS: `${-HOUR_MS}` }, 'echo')
    const hook = await failingOnce(test, server)
    expect((await send()).status).toBe(200)
    // An attempt is recorded after its answer. A jump does not move an attempt without a record.
    const isRecorded = async (): Promise<boolean> => {
      const { data } = (await (await server.api('GET', '/v1/deliveries')).json()) as {
        data: { attemptCount: number }[]
      }
      return (data[0]?.attemptCount ?? 0) > 0
    }
    expect(await until(isRecorded)).toBe(true)
    jump()
    expect(await until(() => hook.received.length === 2)).toBe(true)
  })

  it('a retry is in time when the clock was set back an hour while no server ran', async (test) => {
    const { server, env, send } = await scene(test, {}, 'echo')
    const hook = await failingOnce(test, server)
    expect((await send()).status).toBe(200)
    expect(await until(() => hook.received.length === 1)).toBe(true)
    await server.kill('SIGTERM')
    Object.assign(env, { CLOCK_OFF_MS: `${-HOUR_MS}` })
    await server.start()
    expect(await until(() => hook.received.length === 2)).toBe(true)
    expect(await until(() => server.output().includes('clock.jumped'))).toBe(true)
  })

  it.for(Object.keys(STORES) as (keyof typeof STORES)[])(
    'a retry moves with each of three jumps, once for two servers, on %s',
    async (store, test) => {
      const { env, jump } = await STORES[store](test)
      const variables = {
        CLOCK_JUMPS_MS: STEPS_MS.join(),
        SERVICE_WEBHOOK_RETRY_SCHEDULE: '2m', // not due for a server that notices a jump later
        ...env,
      }
      const { server, send } = await scene(test, variables, 'echo')
      const second = await realServer({
        beside: server,
        agents: AGENTS,
        env: otherClock(variables),
      })
      test.onTestFinished(second.dispose)
      const hook = await failingOnce(test, server)
      expect((await send()).status).toBe(200)
      expect(await until(() => hook.received.length === 1)).toBe(true)
      const { data } = (await (await server.api('GET', '/v1/deliveries')).json()) as {
        data: { id: string }[]
      }
      const dueAt = async (): Promise<number> => {
        const found = await second.api('GET', `/v1/deliveries/${data[0]?.id}`)
        const { nextAttemptAt = '' } = (await found.json()) as { nextAttemptAt?: string }
        return Date.parse(nextAttemptAt)
      }
      expect(await until(async () => !Number.isNaN(await dueAt()))).toBe(true)

      let expected = await dueAt()
      for (const [n, byMs] of STEPS_MS.entries()) {
        await jump(byMs)
        for (const each of [server, second]) jumpOf(each)
        const haveNoticed = (): boolean =>
          [server, second].every((each) => each.output().split('clock.jumped').length === n + 2)
        expect(await until(haveNoticed)).toBe(true)
        expected += byMs
        const isMoved = async (): Promise<boolean> => Math.abs((await dueAt()) - expected) < 2_000
        expect(await until(isMoved)).toBe(true)
        // No process moves the times again.
        for (const each of [server, second]) {
          const body = { sessionId: `after-${n}`, message: 'hello' }
          expect((await each.api('POST', '/v1/agents/agent/messages', body)).status).toBe(200)
        }
        expect(await isMoved()).toBe(true)
      }
    },
  )
})
