import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

// The procedure of docs/upgrading.md: start a new process, wait until it is ready, then stop an old
// process with SIGTERM. Callers do what a load balancer does: after a failed connection, they
// repeat the send with its key at another process.

const CLIENTS = 6
const SESSIONS = 10

type Receiver = Awaited<ReturnType<typeof receiver>>
let postgres: TestPostgres
let folder: string
let hook: Receiver
const started: RealServer[] = []
/** The processes behind the load balancer. */
let rotation: RealServer[] = []

beforeAll(async () => {
  postgres = await testPostgres()
  folder = await mkdtemp(path.join(tmpdir(), 'rolling-update-'))
  hook = await receiver()
})
afterAll(async () => {
  for (const server of started) await server.dispose()
  await hook.close()
  await postgres.close()
  await rm(folder, { recursive: true })
})

/** Sends until `isOver`. Returns the ids of the messages by their texts. */
async function client(name: string, isOver: () => boolean): Promise<[string, string][]> {
  const sent: [string, string][] = []
  for (let n = 0; !isOver(); n++) {
    const text = `${name}-${n}`
    let messageId: string | undefined
    for (let attempt = n; messageId === undefined; attempt++) {
      const server = rotation[attempt % rotation.length]
      const response = await server
        ?.api(
          'POST',
          '/v1/agents/worker/messages',
          { sessionId: `session-${n % SESSIONS}`, message: text },
          { 'idempotency-key': text },
        )
        .catch(() => undefined)
      if (response && !response.ok && response.status !== 503)
        throw new Error(`${response.status} ${await response.text()}`)
      const body = (await response?.json().catch(() => undefined)) as
        | { messageId?: string }
        | undefined
      messageId = body?.messageId
    }
    sent.push([text, messageId])
  }
  return sent
}

/** Returns how many attempts each delivery has. */
async function attemptsOf(server: RealServer | undefined): Promise<number[]> {
  const counts: number[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const route = `/v1/deliveries?limit=100${cursor && `&cursor=${cursor}`}`
    const page = (await (await server?.api('GET', route))?.json()) as {
      data: { attemptCount: number }[]
      nextCursor: string | null
    }
    counts.push(...page.data.map(({ attemptCount }) => attemptCount))
    cursor = page.nextCursor
  }
  return counts
}

it(
  'a rolling update under load loses no message and does no work twice',
  { timeout: 120_000 },
  async () => {
    const log = path.join(folder, 'runs.log')
    const options = {
      env: { SERVICE_DATABASE_URL: await postgres.database(), SERVICE_LOG_LEVEL: 'warn' },
      agents: `
        import { appendFileSync } from 'node:fs'
        export default { work: async ({ message }) => {
          appendFileSync(${JSON.stringify(log)}, message + '\\n')
          await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 80))
          return 're: ' + message
        } }`,
    }
    const start = async (): Promise<RealServer> => {
      const server = await realServer(options)
      started.push(server)
      rotation = [...rotation, server]
      return server
    }
    const old = [await start(), await start()]
    const agent = {
      name: 'worker',
      runtime: { kind: 'function', handler: 'work' },
      maxQueued: 1000,
    }
    expect((await old[0]?.api('POST', '/v1/agents', agent))?.status).toBe(201)
    const webhook = { url: hook.url, events: ['message.responded'] }
    expect((await old[0]?.api('POST', '/v1/webhooks', webhook))?.status).toBe(201)

    let over = false
    const clients = Array.from({ length: CLIENTS }, (_, n) => client(`client-${n}`, () => over))
    for (const server of old) {
      const answered = hook.received.length
      expect(await until(() => hook.received.length > answered + 20)).toBe(true) // under load
      await start()
      const exit = server.kill('SIGTERM')
      expect(await exit, server.output()).toBe(0)
      rotation = rotation.filter((one) => one !== server)
    }
    const answered = hook.received.length
    expect(await until(() => hook.received.length > answered + 20)).toBe(true)
    over = true
    const sent = (await Promise.all(clients)).flat()

    expect(await until(() => hook.received.length >= sent.length)).toBe(true)
    const reported = hook.received.map(
      ({ body }) => (JSON.parse(body) as { data: { messageId: string } }).data.messageId,
    )
    const runs = readFileSync(log, 'utf8').trim().split('\n')
    console.log(`${sent.length} messages, ${runs.length} runs, ${reported.length} webhooks`)
    expect(reported.toSorted()).toEqual(sent.map(([, id]) => id).toSorted())
    expect(runs.toSorted()).toEqual(sent.map(([text]) => text).toSorted())
    // An attempt is recorded after its answer.
    await vi.waitFor(
      async () => expect(await attemptsOf(started.at(-1))).toEqual(sent.map(() => 1)),
      { timeout: 10_000 },
    )
  },
)
