import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import {
  newSecret,
  webhookSecretContext,
  type AttemptOrder,
} from '@org/agent-messaging-core/runtime'
import { nodeCrypto } from '@org/agent-messaging-core/node'
import { Webhook } from 'standardwebhooks'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../test/eventually.js'
import { http, rawServer } from '../test/raw-server.js'
import { webhookThread, type WebhookThreadOptions } from './webhook-thread.js'

const masterKey = Buffer.alloc(32, 7)
const crypto = nodeCrypto(masterKey)
const secret = newSecret(crypto.randomBytes)
const policy = { headerPrefix: 'X-Test', deliver: { deadlineMs: 5_000 } }

function scene(options: Partial<WebhookThreadOptions> = {}) {
  const thread = webhookThread({
    masterKey,
    policy,
    addresses: { allowLoopback: true },
    ...options,
  })
  onTestFinished(thread.close)
  return thread
}

async function receiver(answer = http('204 No Content')) {
  const server = await rawServer((socket) => socket.write(answer))
  onTestFinished(server.close)
  return server
}

const order = (url: string, n = 0): AttemptOrder => ({
  delivery: { id: `delivery-${n}`, event: 'message.responded' },
  webhook: { id: 'hook', url, secret: crypto.seal(secret, webhookSecretContext('hook')) },
  lease: { until: Date.now() + 60_000 },
  body: `{"n":${n}}`,
})

/** The thread that is started next. */
const nextThread = async (): Promise<Worker> => ((await once(process, 'worker')) as [Worker])[0]

it('signs with the secret, sends, and tells what came of it and which headers it sent', async () => {
  const server = await receiver(http('200 OK', 'taken'))
  const before = Date.now()
  const { startedAt, endedAt, requestHeaders = {}, outcome } = await scene().make(order(server.url))
  expect(outcome).toEqual({ kind: 'accepted', statusCode: 200, responseBody: 'taken' })
  expect(new Webhook(secret).verify('{"n":0}', requestHeaders)).toEqual({ n: 0 })
  expect(server.requests[0]).toContain(`X-Test-Signature: ${requestHeaders['X-Test-Signature']}`)
  expect(before <= startedAt && startedAt <= endedAt && endedAt <= Date.now()).toBe(true)
})

it('gives each of many at once its own answer', async () => {
  const server = await rawServer((socket, request) =>
    socket.write(http('200 OK', `answer to ${/"n":(\d+)/.exec(request)?.[1]}`)),
  )
  onTestFinished(server.close)
  const thread = scene()
  const made = await Promise.all(
    Array.from({ length: 100 }, (_, n) => thread.make(order(server.url, n))),
  )
  expect(made.map(({ outcome }) => 'responseBody' in outcome && outcome.responseBody)).toEqual(
    Array.from({ length: 100 }, (_, n) => `answer to ${n}`),
  )
})

it('keeps to the addresses, the deadline and the master key', async () => {
  const silent = await receiver('')
  const impatient = { ...policy, deliver: { deadlineMs: 100 } }
  const errorOf = async (options: Partial<WebhookThreadOptions>) => {
    const { outcome } = await scene(options).make(order(silent.url))
    return 'error' in outcome && outcome.error
  }
  expect(await errorOf({ addresses: {} })).toBe('address_blocked')
  expect(await errorOf({ policy: impatient })).toBe('timeout')
  expect(await errorOf({ masterKey: Buffer.alloc(32, 8) })).toBe('unsealable_secret')
})

it('makes what a thread that dies had under way unreachable, says why, and goes on with another', async () => {
  const silent = await receiver('')
  const well = await receiver()
  const reasons: string[] = []
  const thread = scene({ onError: (reason) => reasons.push(reason) })
  const starting = nextThread()
  const before = Date.now()
  const lost = thread.make(order(silent.url))
  await eventually('the request arrives', () => silent.requests.length === 1)
  const arrived = Date.now()
  const worker = await starting
  worker.emit('error', new Error('out of memory')) // as Node does of a thread that is
  await worker.terminate()
  expect((await lost).outcome).toEqual({
    kind: 'unreachable',
    error: 'interrupted',
    detail: 'the thread that sends webhooks ended',
  })
  const { startedAt, endedAt } = await lost
  expect(before <= startedAt && startedAt < arrived && arrived <= endedAt).toBe(true)
  expect(reasons).toEqual(['Error: out of memory'])
  expect((await thread.make(order(well.url))).outcome.kind).toBe('accepted')
})

/** A thread that is stuck, as this side sees it: what it says is not heard. */
const stuck = async (starting: Promise<Worker>): Promise<void> =>
  void (await starting).removeAllListeners('message')

it('gives up a thread that says nothing of an attempt after its lease, says so, and goes on with another', async () => {
  const well = await receiver()
  const reasons: string[] = []
  const thread = scene({ onError: (reason) => reasons.push(reason) })
  const starting = nextThread()
  const lost = thread.make({ ...order(well.url), lease: { until: Date.now() + 100 } })
  await stuck(starting)
  expect((await lost).outcome).toMatchObject({ kind: 'unreachable', error: 'interrupted' })
  expect(reasons).toEqual(['the thread did not answer'])
  expect((await thread.make(order(well.url))).outcome.kind).toBe('accepted')
})

it('leaves a thread alone that answers, however many leases have ended meanwhile', async () => {
  const silent = await receiver('')
  const reasons: string[] = []
  const thread = scene({ onError: (reason) => reasons.push(reason) })
  for (let n = 0; n < 5; n++) {
    const { outcome } = await thread.make({
      ...order(silent.url),
      lease: { until: Date.now() + 500 },
    })
    expect(outcome.kind).toBe('unreachable')
  }
  expect(reasons).toEqual([])
})

it('ends what is under way when it is closed, and begins nothing more', async () => {
  const silent = await receiver('')
  const reasons: string[] = []
  const thread = scene({ onError: (reason) => reasons.push(reason) })
  const cut = thread.make(order(silent.url))
  await eventually('the request arrives', () => silent.requests.length === 1)
  await thread.close()
  expect((await cut).outcome).toEqual({
    kind: 'unreachable',
    error: 'interrupted',
    detail: 'the service is stopping',
  })
  expect((await thread.make(order(silent.url))).outcome).toMatchObject({
    kind: 'unreachable',
    detail: 'the service is stopping',
  })
  expect(reasons).toEqual([])
})

it('ends a thread that does not end by itself when it is closed', { timeout: 20_000 }, async () => {
  const silent = await receiver('')
  const thread = scene({ policy: { ...policy, deliver: { deadlineMs: 60_000 } } })
  const starting = nextThread()
  const cut = thread.make(order(silent.url))
  await eventually('the request arrives', () => silent.requests.length === 1)
  Object.assign(await starting, { postMessage: () => undefined }) // what it is told from now on it does not hear
  await thread.close()
  expect((await cut).outcome).toMatchObject({ kind: 'unreachable', error: 'interrupted' })
})

it('ends what was begun just before it is closed', async () => {
  const thread = scene()
  const begun = thread.make(order((await receiver()).url))
  await thread.close()
  expect((await begun).outcome).toMatchObject({
    kind: 'unreachable',
    detail: 'the service is stopping',
  })
})

it('is unreachable where no thread can start, and says why', async () => {
  const reasons: string[] = []
  const unsendable = { allowLoopback: true, toString: () => 'loopback' }
  const thread = scene({ addresses: unsendable, onError: (reason) => reasons.push(reason) })
  const { outcome } = await thread.make(order('http://127.0.0.1:1/'))
  expect(outcome).toMatchObject({ kind: 'unreachable', error: 'interrupted' })
  expect(reasons).toEqual([expect.stringContaining('DataCloneError')])
})

it('takes of a webhook what the request is made of, whatever else a storage gives', async () => {
  const server = await receiver()
  const { webhook, ...rest } = order(server.url)
  const entity = { ...webhook, save: () => undefined }
  expect((await scene().make({ ...rest, webhook: entity })).outcome.kind).toBe('accepted')
})

/** What a process prints that does this with a thread, and ends by itself. */
async function printedBy(program: string): Promise<string> {
  const scene = `
    import { webhookThread } from '@org/agent-messaging-outbound'
    const thread = webhookThread({ masterKey: Buffer.alloc(32, 7), policy: ${JSON.stringify(policy)}, addresses: { allowLoopback: true } })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', `${scene}\n${program}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const printed: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => printed.push(chunk))
  expect(await once(child, 'close')).toEqual([0, null])
  return String(Buffer.concat(printed))
}

it('keeps a process alive for an attempt under way, and no longer', async () => {
  const server = await receiver()
  const program = `thread.make(${JSON.stringify(order(server.url))}).then(({ outcome }) => console.log(outcome.kind))`
  expect(await printedBy(program)).toBe('accepted\n')
})

it('keeps a process alive until it is closed, though what was under way has ended', async () => {
  const [silent, well] = [await receiver(''), await receiver()]
  const program = `
    const cut = thread.make(${JSON.stringify(order(silent.url))})
    await thread.make(${JSON.stringify(order(well.url))})
    await thread.close()
    console.log('closed, and', (await cut).outcome.detail)`
  expect(await printedBy(program)).toBe('closed, and the service is stopping\n')
})
