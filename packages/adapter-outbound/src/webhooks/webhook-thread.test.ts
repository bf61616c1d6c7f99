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
import { eventually } from '../../test/eventually.js'
import { http, rawServer } from '../../test/raw-server.js'
import { webhookThread, type WebhookThreadOptions } from './webhook-thread.js'

const masterKey = Buffer.alloc(32, 7)
const crypto = nodeCrypto(masterKey)
const secret = newSecret(crypto.randomBytes)
const policy = { headerPrefix: 'X-Test', deliver: { deadlineMs: 50_000 } }

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

/** The next thread that starts. */
const nextThread = async (): Promise<Worker> => ((await once(process, 'worker')) as [Worker])[0]

it('the thread signs and sends a request and returns its outcome and headers', async () => {
  const server = await receiver(http('200 OK', 'taken'))
  const before = Date.now()
  const { startedAt, endedAt, requestHeaders = {}, outcome } = await scene().make(order(server.url))
  expect(outcome).toEqual({ kind: 'accepted', statusCode: 200, responseBody: 'taken' })
  expect(new Webhook(secret).verify('{"n":0}', requestHeaders)).toEqual({ n: 0 })
  expect(server.requests[0]).toContain(`X-Test-Signature: ${requestHeaders['X-Test-Signature']}`)
  expect(before <= startedAt && startedAt <= endedAt && endedAt <= Date.now()).toBe(true)
})

it('the thread returns each result to its own attempt', async () => {
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

it('the thread uses the address policy, the deadline and the master key', async () => {
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

it("the thread uses a webhook's time limit, and the content type of a hook", async () => {
  const [silent, well] = [await receiver(''), await receiver()]
  const { webhook, ...rest } = order(silent.url)
  const limited = { ...webhook, sending: { timeoutMs: 100 } }
  const { outcome } = await scene().make({ ...rest, webhook: limited })
  expect(outcome).toMatchObject({ error: 'timeout' })
  const hook = { ...webhook, url: well.url, hook: { messageId: 'message', name: 'name' } }
  const { requestHeaders } = await scene().make({ ...rest, webhook: hook })
  expect(requestHeaders).toMatchObject({ 'content-type': 'application/a2a+json' })
})

it('the thread says when it has started, and a new one after a crash starts again', async () => {
  const thread = scene()
  const starting = nextThread()
  const first = thread.starting()
  const worker = await starting
  await first
  expect(thread.starting()).toBeUndefined()
  const exited = once(worker, 'exit')
  await worker.terminate()
  await exited
  await eventually('another thread starts', () => thread.starting() !== undefined)
  await thread.starting()
  expect(thread.starting()).toBeUndefined()
})

it('attempts do not wait again for a thread that ended while it started', async () => {
  const thread = scene()
  const starting = nextThread()
  const first = thread.starting()
  await (await starting).terminate()
  await first
  expect(thread.starting()).toBeUndefined()
})

it('a crashed thread fails its attempts, reports the reason, and is replaced', async () => {
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
  worker.emit('error', new Error('out of memory')) // As Node does when a thread runs out of memory.
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

/** Makes a thread look stuck: its messages are ignored. */
const stuck = async (starting: Promise<Worker>): Promise<void> =>
  void (await starting).removeAllListeners('message')

it('a thread without a result after the lease is terminated, reported, and replaced', async () => {
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

it('a thread that answers is kept, even when leases end', async () => {
  const silent = await receiver('')
  const well = await receiver()
  const reasons: string[] = []
  const thread = scene({ onError: (reason) => reasons.push(reason) })
  // A busy machine can take seconds to start the thread.
  expect((await thread.make(order(well.url))).outcome.kind).toBe('accepted')
  for (let n = 0; n < 5; n++) {
    const { outcome } = await thread.make({
      ...order(silent.url),
      lease: { until: Date.now() + 500 },
    })
    expect(outcome.kind).toBe('unreachable')
  }
  expect(reasons).toEqual([])
})

it('close ends running attempts and rejects later ones', async () => {
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

it('close terminates a thread that does not end', async () => {
  const silent = await receiver('')
  const thread = scene({ policy: { ...policy, deliver: { deadlineMs: 60_000 } } })
  const starting = nextThread()
  const cut = thread.make(order(silent.url))
  await eventually('the request arrives', () => silent.requests.length === 1)
  // The thread receives no more messages.
  Object.assign(await starting, { postMessage: () => undefined })
  await thread.close()
  expect((await cut).outcome).toMatchObject({ kind: 'unreachable', error: 'interrupted' })
})

it('close ends an attempt that started just before', async () => {
  const thread = scene()
  const begun = thread.make(order((await receiver()).url))
  await thread.close()
  expect((await begun).outcome).toMatchObject({
    kind: 'unreachable',
    detail: 'the service is stopping',
  })
})

it('an attempt is unreachable when no thread can start, and the reason is reported', async () => {
  const reasons: string[] = []
  const unsendable = { allowLoopback: true, toString: () => 'loopback' }
  const thread = scene({ addresses: unsendable, onError: (reason) => reasons.push(reason) })
  const { outcome } = await thread.make(order('http://127.0.0.1:1/'))
  expect(outcome).toMatchObject({ kind: 'unreachable', error: 'interrupted' })
  expect(reasons).toEqual([expect.stringContaining('DataCloneError')])
})

it('the thread receives only the needed fields of a webhook', async () => {
  const server = await receiver()
  const { webhook, ...rest } = order(server.url)
  const entity = { ...webhook, save: () => undefined }
  expect((await scene().make({ ...rest, webhook: entity })).outcome.kind).toBe('accepted')
})

/** Returns the output of a process that runs this program with a thread and exits. */
async function printedBy(program: string): Promise<string> {
  const scene = `
    import { webhookThread } from '@org/agent-messaging-adapter-outbound'
    const thread = webhookThread({
      masterKey: Buffer.alloc(32, 7),
      policy: ${JSON.stringify(policy)},
      addresses: { allowLoopback: true },
    })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', `${scene}\n${program}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const printed: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => printed.push(chunk))
  expect(await once(child, 'close')).toEqual([0, null])
  return String(Buffer.concat(printed))
}

it('a running attempt keeps the process alive, and an idle thread does not', async () => {
  const server = await receiver()
  const program = `thread.make(${JSON.stringify(order(server.url))}).then(({ outcome }) => console.log(outcome.kind))`
  expect(await printedBy(program)).toBe('accepted\n')
})

it('close keeps the process alive until the thread has ended', async () => {
  const silent = await receiver('')
  const well = await receiver()
  const program = `
    const cut = thread.make(${JSON.stringify(order(silent.url))})
    await thread.make(${JSON.stringify(order(well.url))})
    await thread.close()
    console.log('closed, and', (await cut).outcome.detail)`
  expect(await printedBy(program)).toBe('closed, and the service is stopping\n')
})
