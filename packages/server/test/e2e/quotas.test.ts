import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, type RealServer } from './real-server.js'

const QUOTAS = { SERVICE_QUOTAS: 'on', SERVICE_PROJECT_MESSAGES_PER_MINUTE: '20' }
const agent = {
  name: 'echo',
  runtime: { kind: 'function', handler: 'echo' },
  desiredState: 'running',
}

let postgres: TestPostgres
const servers: RealServer[] = []
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(async () => {
  for (const server of servers.toReversed()) await server.dispose()
  await postgres.close()
})

it.each(['SQLite', 'PostgreSQL'])(
  'two processes on %s share one bucket and one usage',
  async (store) => {
    const env =
      store === 'SQLite' ? QUOTAS : { ...QUOTAS, SERVICE_DATABASE_URL: await postgres.database() }
    const one = await realServer({ env })
    const other = await realServer({ env, beside: one })
    servers.push(one, other)
    expect((await one.api('POST', '/v1/agents', agent)).status).toBe(201)
    const began = Date.now()
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        (n % 2 ? one : other).api('POST', '/v1/agents/echo/messages', {
          sessionId: `${n}`,
          message: 'hi',
        }),
      ),
    )
    const refused = answers.filter(({ status }) => status === 429)
    const accepted = answers.length - refused.length
    // A token comes back every 3 s.
    const returned = Math.floor((Date.now() - began) / 3_000)
    expect(accepted).toBeGreaterThanOrEqual(20)
    expect(accepted).toBeLessThanOrEqual(20 + returned)
    expect(refused.every(({ headers }) => Number(headers.get('retry-after')) >= 1)).toBe(true)
    const { total } = (await (await other.api('GET', '/v1/usage')).json()) as {
      total: { messages: number; runs: number }
    }
    expect(total).toMatchObject({ messages: accepted, runs: accepted })
  },
)
