import { describe, expect, it } from 'vitest'
import { testPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { chunksOf, textIn } from '../../../endpoint-ai-sdk/test/scene.js'
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
  SERVICE_ENDPOINTS: 'ai-sdk',
  ...SHORT_LEASES,
}
const CONVERSATIONS = 6

const worker = 'worker'

describe.each(['SQLite', 'PostgreSQL'])('messages through the AI SDK endpoint, on %s', (store) => {
  it(
    'are answered once and in order over kills, and reported (G1 to G5)',
    { timeout: 600_000 },
    async () => {
      const postgres = store === 'PostgreSQL' ? await testPostgres() : undefined
      const database = postgres && { SERVICE_DATABASE_URL: await postgres.database() }
      const server = await realServer({ agents: AGENTS, env: { ...ENV, ...database } })
      const hook = await receiver()
      try {
        const runtime = { kind: 'function', handler: worker }
        const agent = { name: worker, runtime, ...MANY_ATTEMPTS }
        await server.api('POST', '/v1/agents', agent)
        await server.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] })
        const sessions = Array.from({ length: CONVERSATIONS }, (_, n) => `conversation-${n}`)
        const [answers] = await Promise.all([
          Promise.all(sessions.map((session) => converse(server, session))),
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

/** Sends the messages of a chat, each until it is answered. Returns the answers. */
async function converse(server: RealServer, session: string) {
  const answers: unknown[] = []
  for (const text of textsOf(session))
    answers.push(await answerOf(text, () => ask(server, session, text)))
  return answers
}

/** Returns undefined if the stream ends before the answer. */
async function ask({ url }: RealServer, id: string, text: string): Promise<string | undefined> {
  const message = { id: text, role: 'user', parts: [{ type: 'text', text }] }
  const response = await fetch(`${url}/ai-sdk/v1/${worker}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id, message }),
  })
  if (response.status !== 200) return undefined
  const chunks = await chunksOf(response)
  return chunks.at(-2)?.type === 'finish' ? textIn(chunks) : undefined
}
