import { describe, expect, it } from 'vitest'
import { testPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { callTool, connect, ERAS } from '../../../endpoint-mcp/test/scene.js'
import {
  answerOf,
  expectReportedOnce,
  expectStoredInOrder,
  killOften,
  MANY_ATTEMPTS,
  SHORT_LEASES,
  SLOW_WORKER,
  textsOf,
} from './endpoint-kills.js'
import { API_KEY, realServer, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const AGENTS = `export default {
  ${SLOW_WORKER}
}`
const ENV = {
  SERVICE_ENDPOINTS: 'mcp',
  ...SHORT_LEASES,
}
const SESSIONS = 6

const agent = 'worker'

describe.each(['SQLite', 'PostgreSQL'])('messages through the MCP endpoint, on %s', (store) => {
  it(
    'are answered once and in order over kills, and reported (G1 to G5)',
    { timeout: 600_000 },
    async () => {
      const postgres = store === 'PostgreSQL' ? await testPostgres() : undefined
      const database = postgres && { SERVICE_DATABASE_URL: await postgres.database() }
      const server = await realServer({ agents: AGENTS, env: { ...ENV, ...database } })
      const hook = await receiver()
      try {
        const runtime = { kind: 'function', handler: agent }
        await server.api('POST', '/v1/agents', {
          name: agent,
          runtime,
          desiredState: 'running',
          ...MANY_ATTEMPTS,
        })
        await server.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] })
        const sessions = Array.from({ length: SESSIONS }, (_, n) => `session-${n}`)
        const [answers] = await Promise.all([
          Promise.all(sessions.map((session, n) => converse(server, session, n))),
          killOften(server),
        ])
        const inputs = sessions.map(textsOf)
        expect(answers).toEqual(inputs.map((all) => all.map((input) => `answer to ${input}`)))
        await expectStoredInOrder(server, sessions)
        await expectReportedOnce(hook, sessions)
      } finally {
        await server.dispose()
        await hook.close()
        await postgres?.close()
      }
    },
  )
})

/** Sends the messages of a session, each until it is answered. Returns the answers. */
async function converse({ url }: RealServer, sessionId: string, first: number) {
  const era = ERAS[first % ERAS.length] ?? 'modern'
  const answers: unknown[] = []
  for (const message of textsOf(sessionId)) {
    answers.push(await answerOf(message, () => ask(url, era, { message, sessionId })))
  }
  return answers
}

type Ask = { readonly message: string; readonly sessionId: string }

/** Returns the answer, or undefined if there is none yet. */
async function ask(url: string, era: (typeof ERAS)[number], { message, sessionId }: Ask) {
  const client = await connect(`${url}/mcp`, { key: API_KEY, era })
  try {
    const input = { agent, message, sessionId, idempotencyKey: message }
    return (await callTool(client, 'send_message', input)).output?.['response']
  } finally {
    await client.close()
  }
}
