import { afterEach, expect, it, onTestFinished } from 'vitest'
import { testPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { otherClock } from './clock.js'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const HOUR_MS = 3_600_000
const servers: RealServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.dispose()
})

const AGENTS = `export default {
  slow: ({ message }) => new Promise((answer) => setTimeout(answer, 3_000, message)),
  echo: ({ message }) => message,
}`

/** A server with one agent. Its environment can change before its next start. */
async function scene(variables: Readonly<Record<string, string>>, handler = 'slow') {
  const env: Record<string, string> = {
    SERVICE_WEBHOOK_RETRY_SCHEDULE: '3s',
    ...otherClock(variables),
  }
  const server = await realServer({ agents: AGENTS, env })
  servers.push(server)
  const agent = { name: 'agent', runtime: { kind: 'function', handler }, desiredState: 'running' }
  expect((await server.api('POST', '/v1/agents', agent)).status).toBe(201)
  const send = () =>
    server.api('POST', '/v1/agents/agent/messages', { sessionId: 's', message: 'hello' })
  const jump = (): void => jumpOf(server)
  return { server, env, send, jump }
}

const jumpOf = (server: RealServer): void => void process.kill(server.pid() ?? 0, 'SIGUSR2')

/** A webhook whose receiver refuses the first request. */
async function failingOnce(server: RealServer) {
  const hook = await receiver((n) => (n === 0 ? 500 : 200))
  onTestFinished(hook.close)
  const webhook = { url: hook.url, events: ['message.responded'] }
  expect((await server.api('POST', '/v1/webhooks', webhook)).status).toBe(201)
  return hook
}

it.each([HOUR_MS, -HOUR_MS])(
  'a run goes on when the clock jumps by %d ms, and is not repeated',
  async (byMs) => {
    const { server, send, jump } = await scene({ CLOCK_JUMPS_MS: `${byMs}` })
    const sent = send()
    const isRunning = async (): Promise<boolean> => {
      const { data } = (await (await server.api('GET', '/v1/agents/agent/messages')).json()) as {
        data: unknown[]
      }
      return data.length === 1
    }
    expect(await until(isRunning)).toBe(true)
    jump()
    const answer = await sent
    expect([answer.status, await answer.json()]).toMatchObject([200, { response: 'hello' }])
    const list = await server.api('GET', '/v1/agents/agent/messages')
    expect(await list.json()).toMatchObject({ data: [{ attempt: 1 }] })
    expect(server.output()).toContain('clock.jumped')
  },
)

it('a retry is in time when the clock jumps back an hour', async () => {
  const { server, send, jump } = await scene({ CLOCK_JUMPS_MS: `${-HOUR_MS}` }, 'echo')
  const hook = await failingOnce(server)
  expect((await send()).status).toBe(200)
  expect(await until(() => hook.received.length === 1)).toBe(true)
  jump()
  expect(await until(() => hook.received.length === 2)).toBe(true)
})

it('a retry is in time when the clock was set back an hour while no server ran', async () => {
  const { server, env, send } = await scene({}, 'echo')
  const hook = await failingOnce(server)
  expect((await send()).status).toBe(200)
  expect(await until(() => hook.received.length === 1)).toBe(true)
  await server.kill('SIGTERM')
  Object.assign(env, { CLOCK_OFF_MS: `${-HOUR_MS}` })
  await server.start()
  expect(await until(() => hook.received.length === 2)).toBe(true)
  expect(server.output()).toContain('clock.jumped')
})

it.each(['SQLite', 'PostgreSQL'])(
  'a retry is in time when the clock of two processes on %s jumps by 30, −30 and −30 s',
  { timeout: 90_000 },
  async (store) => {
    const isSqlite = store === 'SQLite'
    const variables: Record<string, string> = {
      CLOCK_JUMPS_MS: '30000,-30000,-30000',
      SERVICE_WEBHOOK_RETRY_SCHEDULE: '15s',
    }
    if (!isSqlite) {
      const postgres = await testPostgres()
      onTestFinished(() => postgres.close())
      variables['SERVICE_DATABASE_URL'] = await postgres.database()
    }
    const { server, env, send } = await scene(variables, 'echo')
    const other = await realServer({ agents: AGENTS, env, beside: server })
    servers.unshift(other)
    const hook = await failingOnce(server)
    expect((await send()).status).toBe(200)
    expect(await until(() => hook.received.length === 1)).toBe(true)
    const failedAt = performance.now()
    for (let jumps = 1; jumps <= 3; jumps++) {
      for (const one of [server, other]) jumpOf(one)
      // On PostgreSQL the clock of the database counts, and it does not jump.
      if (isSqlite) expect(await until(() => [server, other].every(hasLogged(jumps)))).toBe(true)
      else await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
    expect(await until(() => hook.received.length === 2, 30_000)).toBe(true)
    // A jump that is not followed makes the retry 30 s late, or 15 s early.
    const waitedMs = performance.now() - failedAt
    expect(waitedMs).toBeGreaterThan(5_000)
    expect(waitedMs).toBeLessThan(30_000)
    for (const one of [server, other]) expect(hasLogged(isSqlite ? 3 : 0)(one)).toBe(true)
  },
)

const hasLogged =
  (jumps: number) =>
  (server: RealServer): boolean =>
    server.output().split('clock.jumped').length - 1 === jumps
