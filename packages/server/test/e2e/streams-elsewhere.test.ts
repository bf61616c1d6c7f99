import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, type RealServer } from './real-server.js'

const TOKENS = 20
const STREAMS = 100
/** The lengths of the parts of one answer, about 190,000 characters in all. */
const LENGTHS = Array.from({ length: 200 }, (_, n) => 100 + ((n * 997) % 1_700))
/**
 * Waits for a file before the first token and for another in the middle. A token has an emoji and
 * letters of three bytes.
 */
const agentsIn = (signals: string): string => `
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
const signal = async (name) => {
  while (!existsSync(${JSON.stringify(signals)} + '/' + name)) await delay(20)
}
export default {
  poet: async function* ({ message }) {
    await signal('begin')
    for (let n = 0; n < ${TOKENS}; n++) {
      if (n === ${TOKENS / 2}) await signal('continue')
      yield message + ' ' + n + ' \u{1F600}漢字 '
      await delay(50)
    }
  },
  analyst: async function* ({ message }) {
    await signal('begin')
    for (const [n, length] of ${JSON.stringify(LENGTHS)}.entries()) {
      if (n === ${LENGTHS.length / 2}) await signal('continue')
      yield { type: 'data', name: 'row', data: message.padEnd(length, '.') }
      await delay(20)
    }
    yield 'done'
  },
}`

let postgres: TestPostgres
/** The folder of the files that the agents wait for. */
let signals: string
const opened: RealServer[] = []
beforeAll(async () => {
  postgres = await testPostgres()
})
beforeEach(async () => {
  signals = await mkdtemp(path.join(tmpdir(), 'agent-messaging-signals-'))
})
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.dispose()
  await rm(signals, { recursive: true })
})
afterAll(() => postgres.close())

const signal = (name: 'begin' | 'continue') => writeFile(path.join(signals, name), '')

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
  const started = await realServer({ agents: agentsIn(signals), env: leases, ...options })
  opened.push(started)
  return started
}

async function agentAt(one: RealServer, name: 'poet' | 'analyst'): Promise<void> {
  const agent = {
    name,
    runtime: { kind: 'function', handler: name },
    desiredState: 'running',
    concurrency: STREAMS,
  }
  expect((await one.api('POST', '/v1/agents', agent)).status).toBe(201)
}

async function begun(at: RealServer, n: number, agent = 'poet'): Promise<string> {
  const body = { sessionId: `s${n}`, message: `m${n}` }
  const sent = await at.api('POST', `/v1/agents/${agent}/messages`, body, {
    prefer: 'respond-async',
  })
  return ((await sent.json()) as { messageId: string }).messageId
}

const streamOf = (at: RealServer, messageId: string, agent = 'poet'): Promise<Response> =>
  at.api('GET', `/v1/agents/${agent}/messages/${messageId}/stream`)

type Event = { readonly event: string; readonly data: Record<string, string> }

/** Reads a stream up to the final message. */
async function* eventsOf({ body }: Response): AsyncGenerator<Event> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const bytes of body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(bytes, { stream: true })
    const blocks = rest.split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = /^event: (.*)$/m.exec(block)?.[1]
      const data = /^data: (.*)$/m.exec(block)?.[1] ?? '{}'
      if (event) yield { event, data: JSON.parse(data) as Event['data'] }
      if (event === 'message') return
    }
  }
  throw new Error('the stream has no end')
}

type Seen = { readonly attempts: number[]; readonly text: string; readonly response: string }

/**
 * Reads a stream. A state or a chunk of a new attempt resets the text. Throws if the chunks are out
 * of order, repeated or lost.
 */
async function read(response: Response, onChunk = (): void => undefined): Promise<Seen> {
  let text = ''
  const attempts: number[] = []
  for await (const { event, data } of eventsOf(response)) {
    if (event === 'message') return { attempts, text, response: data['response'] ?? '' }
    const attempt = Number(data['attempt'])
    if (attempts.at(-1) !== attempt) {
      attempts.push(attempt)
      text = ''
    }
    if (event !== 'chunk') continue
    expect(Number(data['offset'])).toBe(text.length)
    text += data['text']
    onChunk()
  }
  throw new Error('no final message')
}

type Part = { readonly type: string; readonly data: string }
type SeenParts = { readonly attempts: ReadonlySet<number>; readonly parts: readonly Part[] }

/**
 * Reads a stream of parts. A reader that has missed parts of the last attempt gets them with the
 * final message. Throws if a part came twice, out of order, or differs from the stored one.
 */
async function readParts(response: Response, onPart: () => void): Promise<SeenParts> {
  const attempts = new Set<number>()
  let parts: Part[] = []
  for await (const { event, data } of eventsOf(response)) {
    if (event === 'message') {
      const stored = data['parts'] as unknown as Part[]
      expect(stored).toMatchObject({ ...parts })
      return { attempts, parts: stored }
    }
    const { attempt, index, part } = data as unknown as {
      attempt: number
      index: number
      part: Part
    }
    if (!attempts.has(attempt)) parts = []
    attempts.add(attempt)
    if (event !== 'part') continue
    expect(index).toBeGreaterThanOrEqual(parts.length)
    parts[index] = part
    onPart()
  }
  throw new Error('no final message')
}

/** Streams whose tokens are not the whole answer. */
const incomplete = (seen: readonly Seen[]): Seen[] =>
  seen.filter(({ text, response }) => text !== response || !response.includes(` ${TOKENS - 1} `))

describe.for(databases)(
  'streams at other processes on one %s',
  { timeout: 240_000 },
  ([, join]) => {
    it(`${STREAMS} readers, each at the other server than the sender, get every token, also a late one`, async () => {
      const server = await join()
      const servers = [await server(), await server()] as const
      await agentAt(servers[0], 'poet')
      let chunks = 0
      const reads = await Promise.all(
        Array.from({ length: STREAMS }, async (_, n) => {
          const messageId = await begun(servers[n % 2 ? 0 : 1], n)
          const stream = await streamOf(servers[n % 2 ? 1 : 0], messageId)
          return { messageId, end: read(stream, () => void chunks++) }
        }),
      )
      await signal('begin')
      await expect.poll(() => chunks).toBeGreaterThan(STREAMS)
      const late = servers.map(async (at) => streamOf(at, reads[0]?.messageId ?? ''))
      const ends = [
        ...reads.map(({ end }) => end),
        ...(await Promise.all(late)).map((s) => read(s)),
      ]
      await signal('continue')
      expect(incomplete(await Promise.all(ends))).toEqual([])
    })

    it(`${STREAMS} readers get every token of the second attempt when the runs are killed`, async () => {
      const server = await join()
      const one = await server()
      const reader = await server(['--no-worker'])
      await agentAt(one, 'poet')
      let chunks = 0
      const streams = await Promise.all(
        Array.from({ length: STREAMS }, async (_, n) => streamOf(reader, await begun(one, n))),
      )
      const reads = streams.map((stream) => read(stream, () => void chunks++))
      await signal('begin')
      await expect.poll(() => chunks).toBeGreaterThan(STREAMS)
      await one.kill('SIGKILL')
      await signal('continue')
      await one.start()
      const seen = await Promise.all(reads)
      expect(incomplete(seen)).toEqual([])
      expect(seen.some(({ attempts }) => attempts.includes(1) && attempts.at(-1) === 2)).toBe(true)
    })

    it(`${STREAMS} readers at both servers have every part of the second attempt when the runs are killed`, async () => {
      const server = await join()
      const one = await server()
      const reader = await server(['--no-worker'])
      await agentAt(one, 'analyst')
      let arrived = 0
      const streams = await Promise.all(
        Array.from({ length: STREAMS }, async (_, n) =>
          streamOf(reader, await begun(n % 2 ? one : reader, n, 'analyst'), 'analyst'),
        ),
      )
      const reads = streams.map((stream) => readParts(stream, () => void arrived++))
      await signal('begin')
      await expect.poll(() => arrived).toBeGreaterThan(STREAMS)
      await one.kill('SIGKILL')
      await signal('continue')
      await one.start()
      const seen = await Promise.all(reads)
      const rows = LENGTHS.map((length) => ({ type: 'data', name: 'row', length }))
      for (const { parts } of seen) {
        expect(
          parts.map(({ data, ...part }) => (data ? { ...part, length: data.length } : part)),
        ).toEqual([...rows, { type: 'text', text: 'done' }])
      }
      expect(seen.some(({ attempts }) => attempts.has(1) && attempts.has(2))).toBe(true)
    })
  },
)
