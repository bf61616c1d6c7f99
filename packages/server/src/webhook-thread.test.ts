import { availableParallelism } from 'node:os'
import type { Worker } from 'node:worker_threads'
import { createWebhookCatcher } from '@org/agent-messaging-client/webhooks/testing'
import { systemClock } from '@org/agent-messaging-core/node'
import { expect, it, onTestFinished } from 'vitest'
import { createServer, type ServerOptions } from './server.js'

/** A busy machine takes seconds to start a thread. */
const PATIENTLY = { timeoutMs: 60_000 }

/** The number of threads that a server starts until a test event has been delivered. */
async function threadsOf(options: Partial<ServerOptions>): Promise<number> {
  const threads = new Set<Worker>()
  const onWorker = (worker: Worker) => void threads.add(worker)
  process.on('worker', onWorker)
  onTestFinished(() => void process.off('worker', onWorker))
  const base = {
    databasePath: ':memory:',
    masterKey: Buffer.alloc(32, 1),
    port: 0,
    bootstrapApiKey: 'an-api-key-for-the-tests',
  }
  const { service, stop } = await createServer({
    ...base,
    addresses: { allowLoopback: true },
    ...options,
  })
  onTestFinished(() => stop())
  const catcher = await createWebhookCatcher()
  onTestFinished(catcher.close)
  const [project] = (await service.projects.list({ limit: 1 })).data
  const projectId = project?.id ?? ''
  const hook = {
    projectId,
    url: catcher.url,
    secret: catcher.secret,
    events: ['*' as const],
    enabled: true,
  }
  const { webhook } = await service.webhooks.create(hook)
  await service.webhooks.sendTestEvent({ projectId, webhookId: webhook.id })
  await Promise.all([catcher.next(undefined, PATIENTLY), service.tick({ budgetMs: 60_000 })])
  return threads.size
}

/** A server with a webhook thread, which takes a third of a second to load. */
async function startingServer() {
  const { service, stop } = await createServer({
    databasePath: ':memory:',
    masterKey: Buffer.alloc(32, 1),
    port: 0,
    bootstrapApiKey: 'an-api-key-for-the-tests',
    webhookThread: true,
    addresses: { allowLoopback: true },
  })
  onTestFinished(() => stop())
  const [project] = (await service.projects.list({ limit: 1 })).data
  const projectId = project?.id ?? ''
  /** A webhook with a receiver, and a test event that is due. */
  async function waitingWebhook(own?: string) {
    const catcher = await createWebhookCatcher()
    onTestFinished(catcher.close)
    const { url, secret } = catcher
    const hook = { projectId, url, secret: own ?? secret, events: ['*' as const] }
    const { webhook } = await service.webhooks.create(hook)
    const ref = { projectId, webhookId: webhook.id }
    await service.webhooks.sendTestEvent(ref)
    return { catcher, ref }
  }
  return { service, waitingWebhook }
}

it.each(['delete', 'disable'] as const)(
  'a webhook gets nothing after the answer to its %s, also while the thread starts',
  async (change) => {
    const { service, waitingWebhook } = await startingServer()
    const changed = await waitingWebhook()
    await service.webhooks[change](changed.ref)
    const other = await waitingWebhook()
    await other.catcher.next(undefined, PATIENTLY)
    expect(changed.catcher.received).toEqual([])
  },
)

it('a webhook gets no old signature after a rotation without grace, also while the thread starts', async () => {
  const { service, waitingWebhook } = await startingServer()
  const old = `whsec_${Buffer.alloc(32).toString('base64')}`
  const { catcher, ref } = await waitingWebhook(old)
  const { secret } = catcher
  await service.webhooks.rotateSecret({ ...ref, secret, graceMs: 0 })
  await catcher.next(undefined, PATIENTLY)
  expect(catcher.refused).toEqual([])
})

it('the server uses a webhook thread with two processors, unless the option says otherwise', async () => {
  expect(await threadsOf({})).toBe(availableParallelism() > 1 ? 1 : 0)
  expect(await threadsOf({ webhookThread: true })).toBe(1)
  expect(await threadsOf({ webhookThread: false })).toBe(0)
})

it('the server uses no webhook thread without timers or with a custom clock', async () => {
  expect(await threadsOf({ worker: false })).toBe(0)
  expect(await threadsOf({ clock: { ...systemClock } })).toBe(0)
})
