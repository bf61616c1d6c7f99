import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { signTestEvent } from '@org/agent-messaging-client/webhooks'
import { createServer, type RunningServer } from '@org/agent-messaging-server'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import worker from './worker.mjs'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const SECRET = `whsec_${randomBytes(32).toString('base64')}`
let service: RunningServer
let projectId: string
const ends: (() => unknown)[] = []

beforeAll(async () => {
  const addresses = { allowLoopback: true, allowHttp: true }
  service = await createServer({
    port: 0,
    databasePath: ':memory:',
    masterKey: randomBytes(32),
    addresses,
  })
  projectId = (await service.service.projects.create({ name: 'receivers' })).id
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})
afterAll(() => service.stop())

/** Starts the program as the docs say, and waits until it listens. */
async function started(
  command: string,
  ...args: readonly string[]
): Promise<{ url: string; output: () => string }> {
  const port = await freePort()
  const env = { ...process.env, WEBHOOK_SECRET: SECRET, PORT: String(port) }
  const child: ChildProcess = spawn(command, args, {
    env,
    cwd: FOLDER,
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  ends.push(() => process.kill(-(child.pid ?? 0), 'SIGKILL'))
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const url = `http://127.0.0.1:${port}/`
  expect(
    await until(() =>
      fetch(url, { method: 'POST', body: '{}' })
        .then(() => true)
        .catch(() => false),
    ),
  ).toBe(true)
  return { url, output: () => output }
}

/** Serves the worker as its platform would. */
async function servedWorker(env: unknown): Promise<{ url: string }> {
  const server = createHttpServer(async (request, response) => {
    const body = await new Response(request as never).arrayBuffer()
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ])
    const answer = await worker.fetch(
      new Request('https://worker.example/', { method: 'POST', headers, body }),
      env,
    )
    response.writeHead(answer.status).end(await answer.text())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const end = Date.now() + 60_000; Date.now() < end;) {
    if (await condition()) return true
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return false
}

/** Expects a receiver to accept a delivery of the service. */
async function expectDelivered(url: string): Promise<void> {
  const { webhooks, deliveries } = service.service
  const { webhook } = await webhooks.create({
    projectId,
    url,
    events: ['message.responded'],
    secret: SECRET,
  })
  const { id: deliveryId } = await webhooks.sendTestEvent({ projectId, webhookId: webhook.id })
  const delivery = async () => await deliveries.get({ projectId, deliveryId })
  expect(await until(async () => (await delivery()).attempts.length > 0)).toBe(true)
  expect((await delivery()).delivery.state.kind).toBe('delivered')
}

/** Expects a receiver to accept a delivery of the service and to refuse forged requests. */
async function expectToReceive(url: string): Promise<void> {
  await expectDelivered(url)
  const { body, headers } = await signTestEvent(EVENT, SECRET)
  const post = async (text: string, more = {}): Promise<number> =>
    (await fetch(url, { method: 'POST', body: text, headers: { ...headers, ...more } })).status
  expect(await post(body)).toBeLessThan(300)
  expect(await post(body)).toBeLessThan(300) // a duplicate
  expect(await post(body.replace('w-1', 'w-2'))).toBe(401)
  const long = await signTestEvent(
    { ...ANSWER, data: { ...ANSWER.data, response: '😀'.repeat(500_000) } },
    SECRET,
  )
  expect((await fetch(url, { method: 'POST', ...long })).status).toBeLessThan(300)
  // A server that does not read the body can close the connection before the answer arrives.
  expect(await post('x'.repeat(9 * 1024 * 1024)).catch(() => 413)).toBe(413)
  expect(await post(body, { 'webhook-timestamp': '1000000000' })).toBe(401)
  expect(await post(body, { 'webhook-timestamp': 'now' })).toBe(401)
  expect(await post(body, { 'webhook-signature': 'v1,AAAA' })).toBe(401)
}

const ANSWER = {
  event: 'message.responded',
  id: '2',
  createdAt: '2026-01-01T00:00:00.000Z',
  data: {
    messageId: 'm',
    agentId: 'a',
    sessionId: 's',
    executionPrincipal: { type: 'service' },
    metadata: {},
    responseTimeMs: 1,
  },
} as const
const EVENT = {
  event: 'webhook.test',
  id: '1',
  createdAt: '2026-01-01T00:00:00.000Z',
  data: { webhookId: 'w-1' },
} as const

const SECRET_REFUSED = /set WEBHOOK_SECRET|secret must be whsec_|WEBHOOK_SECRET must be/
const BARE = 'whsec_'
const REFUSED = Array.from({ length: 5 }, () => [1, expect.stringMatching(SECRET_REFUSED)])

const UNUSABLE = [undefined, '', BARE, `${BARE}***`, SECRET.slice(BARE.length)]

/** Starts a receiver with each secret. Returns exit codes and error outputs. */
function startsWith(
  secrets: readonly (string | undefined)[],
  ...args: readonly string[]
): [number | null, string][] {
  return secrets.map((secret) => {
    const { WEBHOOK_SECRET: _, ...env } = process.env
    const { status, stderr } = spawnSync(process.execPath, args, {
      env: { ...env, PORT: '0', ...(secret !== undefined && { WEBHOOK_SECRET: secret }) },
      cwd: FOLDER,
      encoding: 'utf8',
      timeout: 60_000,
    })
    return [status, stderr]
  })
}

describe('a receiver', { timeout: 240_000 }, () => {
  it('in Node accepts the deliveries of the service and nothing else', async () => {
    const { url, output } = await started(process.execPath, 'node.mjs')
    await expectToReceive(url)
    expect(output().match(/test of w-1/g)).toHaveLength(1)
  })

  it('in Express does the same behind a body parser', async () => {
    const { url, output } = await started(process.execPath, 'express.mjs')
    await expectToReceive(url)
    expect(output().match(/test of w-1/g)).toHaveLength(1)
  })

  it('in a worker module does the same', async () => {
    await expectToReceive((await servedWorker({ WEBHOOK_SECRET: SECRET })).url)
  })

  it('in a worker module reads the secret of the process on Deno and Bun', async () => {
    process.env['WEBHOOK_SECRET'] = SECRET
    ends.push(() => delete process.env['WEBHOOK_SECRET'])
    const bunServer = { port: 3000 } // Deno and Bun pass no variables here
    await expectToReceive((await servedWorker(bunServer)).url)
    await expectToReceive((await servedWorker(undefined)).url)
  })

  it('with the standardwebhooks library does the same', async () => {
    const { url, output } = await started(process.execPath, 'standard.mjs')
    await expectToReceive(url)
    expect(output().match(/webhook.test/g)).toHaveLength(2)
  })

  it('that checks X-Service-Signature by hand accepts deliveries and refuses changes', async () => {
    const { url, output } = await started(process.execPath, 'by-hand.mjs')
    await expectDelivered(url)
    const { body, headers } = await signTestEvent(EVENT, SECRET)
    const { 'X-Service-Signature': signature = '' } = headers
    const post = async (text: string, given: string): Promise<number> => {
      const changed = { ...headers, 'X-Service-Signature': given }
      return (await fetch(url, { method: 'POST', body: text, headers: changed })).status
    }
    expect([await post(body, signature), await post(body, signature)]).toEqual([204, 204])
    expect(await post(body.replace('w-1', 'w-2'), signature)).toBe(401)
    expect(await post(body, 'sha256=')).toBe(401)
    expect(await post('x'.repeat(9 * 1024 * 1024), signature).catch(() => 413)).toBe(413)
    expect(output()).toBe('webhook.test\nwebhook.test\n')
  })
})

describe('without a usable secret', { timeout: 240_000 }, () => {
  it.each(['node.mjs', 'express.mjs', 'by-hand.mjs'])('%s refuses to start', (file) => {
    expect(startsWith(UNUSABLE, file)).toEqual(REFUSED)
  })

  it('worker.mjs answers no request', () => {
    const request = new Request('https://worker.example/', { method: 'POST', body: '{}' })
    for (const secret of [undefined, '', BARE, `${BARE}***`])
      expect(() => worker.fetch(request, { WEBHOOK_SECRET: secret })).toThrow(SECRET_REFUSED)
  })

  it('standard.mjs refuses to start', () => {
    const empty = [1, expect.stringContaining("Secret can't be empty")]
    expect(startsWith([undefined, '', BARE], 'standard.mjs')).toEqual([empty, empty, empty])
  })
})
