import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer } from './real-server.js'

const OPERATOR_KEY = 'an-operator-key-for-the-tests'
const permissions = ['project:agents', 'project:message']
const CALLERS = 150
const SENDS = 40
const agent = {
  name: 'echo',
  runtime: { kind: 'function', handler: 'echo' },
  desiredState: 'running',
}

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

it.each(['SQLite', 'PostgreSQL'])(
  'on %s, a project whose callers never pause is not refused and takes nothing from another',
  { timeout: 600_000 },
  async (store) => {
    const env = {
      SERVICE_OPERATOR_KEY: OPERATOR_KEY,
      ...(store === 'PostgreSQL' && { SERVICE_DATABASE_URL: await postgres.database() }),
    }
    const server = await realServer({ env })
    try {
      const post = (route: string, body: object, headers?: Record<string, string>) =>
        server.api('POST', route, body, headers)
      const operator = { authorization: `Bearer ${OPERATOR_KEY}` }
      const project = await post('/v1/projects', { name: 'quiet' }, operator)
      const { id } = (await project.json()) as { id: string }
      const made = await post(`/v1/projects/${id}/keys`, { name: 'quiet', permissions }, operator)
      const { key } = (await made.json()) as { key: string }
      const quiet = { authorization: `Bearer ${key}` }
      for (const headers of [{}, quiet])
        expect((await post('/v1/agents', agent, headers)).status).toBe(201)
      const send = async (message: string, headers?: Record<string, string>) =>
        (await post('/v1/agents/echo/messages', { sessionId: 'one', message }, headers)).status

      const flood = new Set<number>()
      const ended = new AbortController()
      const callers = Array.from({ length: CALLERS }, async () => {
        while (!ended.signal.aborted)
          flood.add((await post('/v1/agents/echo/messages', longMessage())).status)
      })
      const statuses: number[] = []
      for (let n = 0; n < SENDS; n++) statuses.push(await send(`${n}`, quiet))
      ended.abort()
      await Promise.all(callers)

      expect(new Set(statuses)).toEqual(new Set([200]))
      expect([...flood].filter((status) => status >= 400)).toEqual([])
    } finally {
      await server.dispose()
    }
  },
)

const longMessage = () => ({ sessionId: crypto.randomUUID(), message: 'a'.repeat(2_000) })
