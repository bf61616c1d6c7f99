import { mkdtemp, rm } from 'node:fs/promises'
import { once } from 'node:events'
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultPolicy } from '@org/agent-messaging-core'
import { fakeClock, type FakeClock } from '@org/agent-messaging-testing'
import { createServer, type ServerOptions } from '../../src/index.js'

const API_KEY = 'an-api-key-for-the-scenarios'
const SECOND = 1_000
/** How often sockets and the file get time after a step of the clock. */
const IO_ROUNDS = 8

/** The fields of resources that the tests read. */
type Resource = { readonly [field: string]: unknown } & { readonly id: string }

/** A server in this process with a real file, real sockets and a fake clock. */
export type Scene = {
  readonly clock: FakeClock
  /** The server's. */
  readonly url: string
  api(
    method: string,
    route: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly body: Resource & { data: Resource[] } }>
  /** Sends a message in a new session to the echo agent, which answers at once. */
  send(message?: string): Promise<void>
  webhook(url: string, more?: object): Promise<Resource>
  deliveries(filter: string): Promise<Resource[]>
  /** Advances the clock by `ms` in steps. Sockets get time after each step. */
  pass(ms: number, stepMs?: number): Promise<void>
  /** Waits for the condition without advancing the clock. */
  settled(condition: () => boolean | Promise<boolean>): Promise<void>
  close(): Promise<void>
}

export async function openScene(options: Partial<ServerOptions> = {}): Promise<Scene> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-'))
  const clock = fakeClock()
  let skippedMs = 0
  const server = await createServer({
    port: 0,
    databasePath: path.join(folder, 'service.db'),
    masterKey: new Uint8Array(32).fill(7),
    bootstrapApiKey: API_KEY,
    addresses: { allowLoopback: true, allowHttp: true },
    clock: { now: clock.now, sleep: clock.sleep, elapsed: () => clock.elapsed() + skippedMs },
    // A step of the clock must not end the lease of a request that is in progress.
    policy: {
      ...options.policy,
      deliver: { ...defaultPolicy.deliver, leaseMs: 24 * 3_600 * SECOND },
    },
    ...options,
  })

  const api: Scene['api'] = async (method, route, body) => {
    const response = await fetch(server.url + route, {
      method,
      headers: {
        authorization: `Bearer ${API_KEY}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }

  async function must(
    method: string,
    route: string,
    body?: unknown,
  ): Promise<Resource & { data: Resource[] }> {
    const answer = await api(method, route, body)
    if (answer.status >= 300)
      throw new Error(`${method} ${route}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  async function settled(condition: () => boolean | Promise<boolean>): Promise<void> {
    for (const end = Date.now() + 100_000; !(await condition());) {
      if (Date.now() > end) throw new Error(`the condition stayed false: ${condition.toString()}`)
      await clock.advance(0)
      await sleep(5)
    }
  }

  async function sockets(): Promise<void> {
    for (let round = 0; round < IO_ROUNDS; round++) {
      await sleep(3)
      await clock.advance(0)
    }
  }

  let sessions = 0
  await must('POST', '/v1/agents', {
    name: 'echo',
    runtime: { kind: 'function', handler: 'echo' },
    desiredState: 'running',
  })
  return {
    clock,
    url: server.url,
    api,
    settled,
    send: async (message = 'hi') => {
      await must('POST', '/v1/agents/echo/messages', { sessionId: `s${sessions++}`, message })
    },
    webhook: (url, more = {}) =>
      must('POST', '/v1/webhooks', { url, events: ['message.responded'], ...more }),
    deliveries: async (filter) => (await must('GET', `/v1/deliveries?limit=100&${filter}`)).data,
    pass: async (ms, stepMs = 5 * SECOND) => {
      await sockets()
      for (let left = ms; left > 0; left -= stepMs) {
        // Sleepers miss most of a step, so that the workers poll once and not 7,200 times an hour.
        const ms = Math.max(0, Math.min(stepMs, left) - SECOND)
        clock.set(clock.now() + ms)
        skippedMs += ms
        await clock.advance(Math.min(SECOND, left))
        await sockets()
      }
    },
    close: async () => {
      const stopping = server.stop({ graceMs: 100 })
      const done = stopping.then(() => true)
      while (!(await Promise.race([done, sleep(5).then(() => false)]))) await clock.advance(100)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type Hit = {
  readonly at: number
  readonly id: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Undefined while the request hangs. */
  status?: number
}
export type Receiver = {
  readonly url: string
  readonly hits: readonly Hit[]
  readonly maxConcurrent: number
  /** The response to all further requests. */
  answer: number | 'hang' | ((hit: Hit) => { status: number; headers?: Record<string, string> })
  close(): Promise<void>
}

/** A webhook receiver. `at` is the time of the fake clock. */
export async function openReceiver(
  clock: FakeClock,
  answer: Receiver['answer'] = 200,
): Promise<Receiver> {
  const hits: Hit[] = []
  let open = 0
  const state = { answer, maxConcurrent: 0 }

  function respond(hit: Hit, response: ServerResponse): void {
    if (state.answer === 'hang') return
    const { status, headers = {} } =
      typeof state.answer === 'number' ? { status: state.answer } : state.answer(hit)
    hit.status = status
    response.writeHead(status, headers).end('ok')
  }

  const server = createHttpServer((request, response) => {
    state.maxConcurrent = Math.max(state.maxConcurrent, ++open)
    response.on('close', () => open--)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const id = String(request.headers['x-service-delivery'])
      const hit: Hit = {
        at: clock.now(),
        id,
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      }
      hits.push(hit)
      respond(hit, response)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    hits,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}
