import path from 'node:path'
import { expect, it } from 'vitest'
import { linesOf } from './lines-of.js'
import { realServer, until } from './real-server.js'
import { receiver } from './receiver.js'

/**
 * Runs of each message: the first fails and can be retried, the second hangs until the kill, the
 * third fails permanently, the fourth answers.
 */
const AGENTS = `
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
export default { noted: ({ messageId, executionPrincipal }) => {
  appendFileSync('runs.log', JSON.stringify({ messageId, executionPrincipal }) + '\\n')
  const run = readFileSync('runs.log', 'utf8').split(messageId).length - 1
  if (run === 1) throw Object.assign(new Error('busy'), { retryable: true })
  if (run === 2) return new Promise(() => {})
  if (run === 3) throw new Error('broken')
  return JSON.stringify(executionPrincipal)
} }`

const PRINCIPALS = [{ type: 'service' }, { type: 'end_user', endUserId: 'ü 1' }] as const
type Sent = { readonly messageId: string }
type Run = Sent & { readonly executionPrincipal: unknown }

it('a message keeps its principal through another attempt, a crash, a retry and a redelivery', async () => {
  const server = await realServer({ agents: AGENTS })
  const hook = await receiver()
  const log = path.join(server.folder, 'runs.log')
  const runs = (): Run[] => linesOf(log).map((line) => JSON.parse(line) as Run)
  const json = async <T>(method: string, route: string, body?: unknown) =>
    (await (await server.api(method, route, body)).json()) as T
  try {
    await server.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] })
    const runtime = { kind: 'function', handler: 'noted' }
    const agent = {
      name: 'noted',
      runtime,
      desiredState: 'running',
      maxAttempts: 9,
      defaultExecutionPrincipal: { type: 'end_user' },
    }
    expect((await server.api('POST', '/v1/agents', agent)).status).toBe(201)
    const sent: Sent[] = []
    for (const [n, executionPrincipal] of PRINCIPALS.entries()) {
      const message = { sessionId: `session ${n}`, message: 'who?', executionPrincipal }
      sent.push(
        (await (
          await server.api('POST', '/v1/agents/noted/messages', message, {
            prefer: 'respond-async',
          })
        ).json()) as Sent,
      )
    }
    expect(await until(() => runs().length === 4)).toBe(true)
    await server.kill('SIGKILL')
    await server.start()

    for (const [n, { messageId }] of sent.entries()) {
      const route = `/v1/agents/noted/messages/${messageId}`
      const isIn = (state: string) =>
        until(async () => (await json<{ state: string }>('GET', route)).state === state)
      expect(await isIn('failed')).toBe(true)
      expect(await json('POST', `${route}/retry`)).toMatchObject({
        executionPrincipal: PRINCIPALS[n],
      })
      expect(await isIn('responded')).toBe(true)
      expect(await json('GET', route)).toMatchObject({
        executionPrincipal: PRINCIPALS[n],
        response: JSON.stringify(PRINCIPALS[n]),
      })
      expect(
        runs()
          .filter((run) => run.messageId === messageId)
          .map(({ executionPrincipal }) => executionPrincipal),
      ).toEqual(Array.from({ length: 4 }, () => PRINCIPALS[n]))
    }

    // A delivery can be redelivered only after its result is stored.
    const recorded = () =>
      json<{ data: { id: string; status: string }[] }>('GET', '/v1/deliveries?status=delivered')
    expect(await until(async () => (await recorded()).data.length === 2)).toBe(true)
    const { data } = await recorded()
    for (const { id } of data)
      expect((await server.api('POST', `/v1/deliveries/${id}/redeliver`)).status).toBe(202)
    expect(await until(() => hook.received.length === 4)).toBe(true)
    for (const { body } of hook.received) {
      const event = JSON.parse(body) as { data: Run }
      expect(event.data.executionPrincipal).toEqual(
        PRINCIPALS[sent.findIndex(({ messageId }) => messageId === event.data.messageId)],
      )
    }
  } finally {
    await server.dispose()
    await hook.close()
  }
})
