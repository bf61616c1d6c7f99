import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, type RealServer } from './real-server.js'

const TOKENS = 20
const STREAMS = 100
/** A token has an emoji and letters of three bytes. */
const AGENTS = `
import { setTimeout as delay } from 'node:timers/promises'
export default {
  poet: async function* ({ message }) {
    for (let n = 0; n < ${TOKENS}; n++) {
      yield message + ' ' + n + ' \u{1F600}漢字 '
      await delay(50)
    }
  },
}`

let postgres: TestPostgres
const opened: RealServer[] = []
beforeAll(async () => {
  postgres = await testPostgres()
})
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.dispose()
})
afterAll(() => postgres.close())

type Start = (args?: readonly string[]) => Promise<RealServer>

/** Each server of a test joins the first one's database. */
const databases: readonly (readonly [string, () => Promise<Start>])[] = [
  [
    'PostgreSQL',
    async () => {
      const database = await postgres.database()
      return (args = []) => start({ args, env: { SERVICE_DATABASE_URL: database } })
    },
  ],
  [
    'SQLite file',
    async () => {
      let first: RealServer | undefined
      return async (args = []) => {
        const started = await start({ args, ...(first && { beside: first }) })
        first ??= started
        return started
      }
    },
  ],
]

async function start({ env, ...options }: NonNullable<Parameters<typeof realServer>[0]>) {
  const leases = { SERVICE_RUN_LEASE_MS: '1000', ...env }
  const started = await realServer({ agents: AGENTS, env: leases, ...options })
  opened.push(started)
  return started
}

async function poetAt(one: RealServer): Promise<void> {
  const agent = {
    name: 'poet',
    runtime: { kind: 'function', handler: 'poet' },
    desiredState: 'running',
    concurrency: STREAMS,
  }
  expect((await one.api('POST', '/v1/agents', agent)).status).toBe(201)
}

async function begun(at: RealServer, n: number): Promise<string> {
  const body = { sessionId: `s${n}`, message: `m${n}` }
  const sent = await at.api('POST', '/v1/agents/poet/messages', body, { prefer: 'respond-async' })
  return ((await sent.json()) as { messageId: string }).messageId
}

type Seen = { readonly attempts: number[]; readonly text: string; readonly response: string }

/**
 * Reads a stream. A state or a chunk of a new attempt resets the text. Throws if the chunks are out
 * of order, repeated or lost.
 */
async function read(at: RealServer, messageId: string, onChunk = (): void => undefined) {
  const response = await at.api('GET', `/v1/agents/poet/messages/${messageId}/stream`)
  let [rest, text] = ['', '']
  const attempts: number[] = []
  const decoder = new TextDecoder()
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(bytes, { stream: true })
    const blocks = rest.split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = /^event: (.*)$/m.exec(block)?.[1]
      const data = JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '{}') as Record<string, string>
      if (event === 'message') return { attempts, text, response: data['response'] } as Seen
      const attempt = Number(data['attempt'])
      if (event && attempts.at(-1) !== attempt) {
        attempts.push(attempt)
        text = ''
      }
      if (event !== 'chunk') continue
      expect(Number(data['offset'])).toBe(text.length)
      text += data['text']
      onChunk()
    }
  }
  throw new Error('the stream has no end')
}

/** Streams whose tokens are not the whole answer. */
const incomplete = (seen: readonly Seen[]): Seen[] =>
  seen.filter(({ text, response }) => text !== response || !response.includes(` ${TOKENS - 1} `))

describe.for(databases)(
  'streams at other processes on one %s',
  { timeout: 120_000 },
  ([, join]) => {
    it(`${STREAMS} readers, each at the other server than the sender, get every token`, async () => {
      const server = await join()
      const servers = [await server(), await server()] as const
      await poetAt(servers[0])
      const seen = await Promise.all(
        Array.from({ length: STREAMS }, async (_, n) => {
          const messageId = await begun(servers[n % 2 ? 0 : 1], n)
          return await read(servers[n % 2 ? 1 : 0], messageId)
        }),
      )
      expect(incomplete(seen)).toEqual([])
    })

    it('a reader that joins in the middle gets the tokens from the start', async () => {
      const server = await join()
      const one = await server()
      const other = await server(['--no-worker'])
      await poetAt(one)
      const messageId = await begun(one, 1)
      let chunks = 0
      const early = read(other, messageId, () => void chunks++)
      await expect.poll(() => chunks, { timeout: 10_000 }).toBeGreaterThan(5)
      const late = [read(other, messageId), read(one, messageId)]
      expect(incomplete(await Promise.all([early, ...late]))).toEqual([])
    })

    it(`${STREAMS} readers get every token of the second attempt when the runs are killed`, async () => {
      const server = await join()
      const one = await server()
      const reader = await server(['--no-worker'])
      await poetAt(one)
      const begunOnes = await Promise.all(Array.from({ length: STREAMS }, (_, n) => begun(one, n)))
      let chunks = 0
      const reads = begunOnes.map((messageId) => read(reader, messageId, () => void chunks++))
      await expect.poll(() => chunks, { timeout: 20_000 }).toBeGreaterThan(50)
      await one.kill('SIGKILL')
      await server()
      const seen = await Promise.all(reads)
      expect(incomplete(seen)).toEqual([])
      expect(seen.some(({ attempts }) => attempts.includes(1) && attempts.at(-1) === 2)).toBe(true)
    })
  },
)
