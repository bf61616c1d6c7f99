import { randomUUID } from 'node:crypto'
import { StreamResponse, type Task } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { describe, expect, it } from 'vitest'
import { testPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { asking, BINDINGS, connect } from '../../../endpoint-a2a/test/scene.js'
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
import { API_KEY, realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const AGENTS = `export default {
  ${SLOW_WORKER}
}`
const ENV = {
  SERVICE_ENDPOINTS: 'a2a',
  ...SHORT_LEASES,
}
const CONTEXTS = 6

const textOf = ({ artifacts }: Task): string | undefined => {
  const content = artifacts[0]?.parts[0]?.content
  return content?.$case === 'text' ? content.value : undefined
}

describe.each(['SQLite', 'PostgreSQL'])('messages through the A2A endpoint, on %s', (store) => {
  it(
    'are answered once and in order over kills, and reported (G1 to G5)',
    { timeout: 600_000 },
    async () => {
      const postgres = store === 'PostgreSQL' ? await testPostgres() : undefined
      const database = postgres && { SERVICE_DATABASE_URL: await postgres.database() }
      const server = await realServer({ agents: AGENTS, env: { ...ENV, ...database } })
      const hook = await receiver()
      const pushes = await receiver()
      try {
        const runtime = { kind: 'function', handler: 'worker' }
        const agent = { name: 'worker', runtime, a2a: { enabled: true }, ...MANY_ATTEMPTS }
        await server.api('POST', '/v1/agents', agent)
        await server.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] })
        const contexts = Array.from({ length: CONTEXTS }, (_, n) => `context-${n}`)
        const [answers] = await Promise.all([
          Promise.all(contexts.map((context, n) => converse(server, context, n, pushes.url))),
          killOften(server),
        ])
        const texts = contexts.map(textsOf)
        const all = texts.flat()
        expect(answers).toEqual(texts.map((all) => all.map((text) => `answer to ${text}`)))
        await expectStoredInOrder(server, contexts)
        await expectReportedOnce(hook, contexts)
        // Each push config gets its task, which has the same bytes at each attempt.
        const pushed = () => pushes.received.map(({ body }) => body)
        expect(await until(() => new Set(pushed()).size === all.length)).toBe(true)
        const tasks = [...new Set(pushed())].map((body) =>
          StreamResponse.fromJSON(JSON.parse(body)),
        )
        const answered = tasks.map(
          ({ payload }) => payload?.$case === 'task' && textOf(payload.value),
        )
        expect(new Set(answered)).toEqual(new Set(all.map((text) => `answer to ${text}`)))
        const tokens = pushes.received.map(({ headers }) => headers['x-a2a-notification-token'])
        expect(new Set(tokens)).toEqual(new Set(['a token']))
        const { data } = await (await server.api('GET', '/v1/webhooks')).json()
        expect(data).toHaveLength(1)
      } finally {
        await server.dispose()
        await hook.close()
        await pushes.close()
        await postgres?.close()
      }
    },
  )
})

/** Sends the messages of a context, each until it is answered. Returns the answers. */
async function converse({ url }: RealServer, contextId: string, first: number, pushUrl: string) {
  const binding = BINDINGS[first % BINDINGS.length] as (typeof BINDINGS)[number]
  const answers: unknown[] = []
  for (const text of textsOf(contextId)) {
    const taskPushNotificationConfig = {
      tenant: '',
      id: '',
      taskId: '',
      url: pushUrl,
      token: 'a token',
      authentication: undefined,
    }
    const configuration = { taskPushNotificationConfig }
    const request = asking(text, { contextId, messageId: randomUUID(), configuration })
    answers.push(await answerOf(text, () => askOnce(url, binding, first, request)))
  }
  return answers
}

async function askOnce(
  url: string,
  binding: (typeof BINDINGS)[number],
  way: number,
  request: Parameters<Client['sendMessage']>[0],
): Promise<string | undefined> {
  const client = await connect(`${url}/a2a/worker`, API_KEY, binding)
  if (way % 3 === 0) return textOf((await client.sendMessage(request)) as Task)
  let id = ''
  for await (const { payload } of client.sendMessageStream(request))
    if (payload?.$case === 'task') id = payload.value.id
  return textOf(await client.getTask({ tenant: '', id }))
}
