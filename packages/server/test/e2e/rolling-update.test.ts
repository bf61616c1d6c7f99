import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { schemaVersion } from '@org/agent-messaging-node/wiring'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { makeNextRelease, type NextRelease } from './next-release.js'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

// The procedure of docs/upgrading.md, there and back: start a process of the other release, wait
// until it is ready, then stop a process with SIGTERM. Callers do what a load balancer does: after
// a failed connection, they repeat the send with its key at another process.

const CLIENTS = 3
const SESSIONS = 10

type Receiver = Awaited<ReturnType<typeof receiver>>
let postgres: TestPostgres
let next: NextRelease
let folder: string
let hook: Receiver
let started: RealServer[]
/** The processes behind the load balancer. */
let rotation: RealServer[]

beforeAll(async () => {
  postgres = await testPostgres()
  next = makeNextRelease()
})
afterAll(async () => {
  next.dispose()
  await postgres.close()
})
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'rolling-update-'))
  hook = await receiver()
  started = []
  rotation = []
})
afterEach(async () => {
  for (const server of started.toReversed()) await server.dispose()
  await hook.close()
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

it.each(['SQLite', 'PostgreSQL'])(
  'an update and a rollback under load lose no message and do no work twice, on %s',
  { timeout: 240_000 },
  async (store) => {
    const log = path.join(folder, 'runs.log')
    const url = store === 'PostgreSQL' ? await postgres.database() : undefined
    const env = { SERVICE_LOG_LEVEL: 'warn', ...(url && { SERVICE_DATABASE_URL: url }) }
    const database = () => url ?? path.join(started[0]?.folder ?? '', 'service.db')
    const agents = `
      import { appendFileSync } from 'node:fs'
      export default { work: async ({ message }) => {
        appendFileSync(${JSON.stringify(log)}, message + '\\n')
        await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 80))
        return 're: ' + message
      } }`
    const start = async (cli?: string): Promise<void> => {
      const [beside] = started
      const options = { env, agents, ...(cli && { cli }), ...(beside && { beside }) }
      const server = await realServer(options)
      started.push(server)
      rotation = [...rotation, server]
    }
    await start()
    await start()
    const [old] = started
    const runtime = { kind: 'function', handler: 'work' }
    const agent = { name: 'worker', runtime, maxQueued: 1000 }
    expect((await old?.api('POST', '/v1/agents', agent))?.status).toBe(201)
    const webhook = { url: hook.url, events: ['message.responded'] }
    expect((await old?.api('POST', '/v1/webhooks', webhook))?.status).toBe(201)

    const underLoad = async (): Promise<void> => {
      const answered = hook.received.length
      expect(await until(() => hook.received.length > answered + 20)).toBe(true)
    }
    let over = false
    const clients = Array.from({ length: CLIENTS }, (_, n) => client(`client-${n}`, () => over))
    for (const cli of [next.cli, next.cli, undefined, undefined]) {
      await underLoad()
      await start(cli)
      const [oldest] = rotation
      expect(await oldest?.kill('SIGTERM'), oldest?.output()).toBe(0)
      rotation = rotation.slice(1)
    }
    await underLoad()
    over = true
    const { version, newest } = await schemaVersion(database())
    expect(version).toBe(newest + 1)
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
      { timeout: 30_000 },
    )
  },
)
