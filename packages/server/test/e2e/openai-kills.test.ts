import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { testPostgres } from '../../../adapter-postgres/test/test-postgres.js'
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
  SERVICE_ENDPOINTS: 'openai',
  ...SHORT_LEASES,
}
const CONVERSATIONS = 6

const model = 'worker'
type Ask = { readonly input: string; readonly session: string; readonly key: string }

/** The ways to ask. Each returns the answer. */
const WAYS = [
  async (client: OpenAI, { input, session: conversation, key }: Ask) => {
    const headers = { 'Idempotency-Key': key }
    const body = { model, input, conversation }
    return (await client.responses.create(body, { headers })).output_text
  },
  async (client: OpenAI, { input, session: conversation, key }: Ask) => {
    const headers = { 'Idempotency-Key': key }
    const stream = client.responses.stream({ model, input, conversation }, { headers })
    return (await stream.finalResponse()).output_text
  },
  async (client: OpenAI, { input, session, key }: Ask) => {
    const headers = { 'Idempotency-Key': key }
    const messages = [{ role: 'user', content: input }] as const
    const metadata = { session_id: session }
    const body = { model, messages: [...messages], metadata }
    const completion = await client.chat.completions.create(body, { headers })
    return completion.choices[0]?.message.content
  },
]

describe.each(['SQLite', 'PostgreSQL'])('messages through the OpenAI endpoint, on %s', (store) => {
  it(
    'are answered once and in order over kills, and reported (G1 to G5)',
    { timeout: 600_000 },
    async () => {
      const postgres = store === 'PostgreSQL' ? await testPostgres() : undefined
      const database = postgres && { SERVICE_DATABASE_URL: await postgres.database() }
      const server = await realServer({ agents: AGENTS, env: { ...ENV, ...database } })
      const hook = await receiver()
      try {
        const runtime = { kind: 'function', handler: model }
        const agent = { name: model, runtime, ...MANY_ATTEMPTS }
        await server.api('POST', '/v1/agents', agent)
        await server.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] })
        const sessions = Array.from({ length: CONVERSATIONS }, (_, n) => `conversation-${n}`)
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

/** Sends the messages of a conversation, each until it is answered. Returns the answers. */
async function converse({ url }: RealServer, session: string, first: number) {
  const client = new OpenAI({ apiKey: API_KEY, baseURL: `${url}/openai/v1`, maxRetries: 0 })
  const answers: unknown[] = []
  for (const [n, input] of textsOf(session).entries()) {
    const ask = WAYS[(first + n) % WAYS.length] as (typeof WAYS)[number]
    answers.push(await answerOf(input, () => ask(client, { input, session, key: input })))
  }
  return answers
}
