import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, type RealServer } from './real-server.js'

const QUOTAS = { SERVICE_QUOTAS: 'on', SERVICE_PROJECT_MESSAGES_PER_MINUTE: '20' }
const agent = {
  name: 'echo',
  runtime: { kind: 'function', handler: 'echo' },
  desiredState: 'running',
  a2a: { enabled: true },
}

let postgres: TestPostgres
const servers: RealServer[] = []

async function twoServers(store: string, settings: Record<string, string>) {
  const env =
    store === 'SQLite' ? settings : { ...settings, SERVICE_DATABASE_URL: await postgres.database() }
  const one = await realServer({ env })
  const other = await realServer({ env, beside: one })
  servers.push(one, other)
  expect((await one.api('POST', '/v1/agents', agent)).status).toBe(201)
  return [one, other] as const
}
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
    const [one, other] = await twoServers(store, QUOTAS)
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

/** A send at each entrance. */
const sends: Record<string, { path: string; body: (n: number) => object; headers?: object }> = {
  HTTP: {
    path: '/v1/agents/echo/messages',
    body: (n) => ({ sessionId: `${n}`, message: 'hi' }),
  },
  MCP: {
    path: '/mcp',
    body: (id) => {
      const params = { name: 'send_message', arguments: { agent: 'echo', message: 'hi' } }
      return { jsonrpc: '2.0', id, method: 'tools/call', params }
    },
    headers: { accept: 'application/json, text/event-stream' },
  },
  A2A: {
    path: '/a2a/echo',
    body: (id) => {
      const message = { messageId: `${id}`, role: 'ROLE_USER', parts: [{ text: 'hi' }] }
      return { jsonrpc: '2.0', id, method: 'SendMessage', params: { message } }
    },
    headers: { 'a2a-version': '1.0' },
  },
  'AI SDK': {
    path: '/ai-sdk/v1/echo',
    body: (id) => ({
      id: `chat-${id}`,
      message: { id: 'm', role: 'user', parts: [{ type: 'text', text: 'hi' }] },
    }),
  },
  OpenAI: { path: '/openai/v1/responses', body: () => ({ model: 'echo', input: 'hi' }) },
}

it.each(['SQLite', 'PostgreSQL'])(
  'on %s, the limit of a new key holds for 100 first sends at once, at each entrance',
  async (store) => {
    const [one, other] = await twoServers(store, {
      SERVICE_QUOTAS: 'on',
      SERVICE_KEY_MESSAGES_PER_MINUTE: '5',
      SERVICE_ENDPOINTS: 'a2a,ai-sdk,mcp,openai',
    })
    const countMessages = async () => {
      const { total } = (await (await one.api('GET', '/v1/usage')).json()) as {
        total: { messages: number }
      }
      return total.messages
    }
    for (const [entrance, { path, body, headers }] of Object.entries(sends)) {
      const before = await countMessages()
      const newKey = { name: entrance, permissions: ['project:message'] }
      const { key } = (await (await one.api('POST', '/v1/keys', newKey)).json()) as { key: string }
      const began = Date.now()
      await Promise.all(
        Array.from({ length: 100 }, async (_, n) => {
          const sent = await fetch((n % 2 ? one : other).url + path, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${key}`,
              'content-type': 'application/json',
              ...headers,
            },
            body: JSON.stringify(body(n)),
          })
          await sent.text()
        }),
      )
      const accepted = (await countMessages()) - before
      // A token comes back every 12 s.
      const returned = Math.floor((Date.now() - began) / 12_000)
      expect([entrance, accepted >= 5, accepted <= 5 + returned]).toEqual([entrance, true, true])
    }
  },
)
