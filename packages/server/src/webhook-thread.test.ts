import { availableParallelism } from 'node:os'
import type { Worker } from 'node:worker_threads'
import { createWebhookCatcher } from '@org/agent-messaging-client/webhooks/testing'
import { systemClock } from '@org/agent-messaging-core/node'
import { expect, it, onTestFinished } from 'vitest'
import { createServer, type ServerOptions } from './server.js'

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
  const [project] = (await service.projects.list({ limit: 1 }))._unsafeUnwrap().data
  const projectId = project?.id ?? ''
  const hook = {
    projectId,
    url: catcher.url,
    secret: catcher.secret,
    events: ['*' as const],
    enabled: true,
  }
  const { webhook } = (await service.webhooks.create(hook))._unsafeUnwrap()
  ;(await service.webhooks.sendTestEvent({ projectId, webhookId: webhook.id }))._unsafeUnwrap()
  await Promise.all([catcher.next(), service.tick({ budgetMs: 5_000 })])
  return threads.size
}

it('the server uses a webhook thread with two processors, unless the option says otherwise', async () => {
  expect(await threadsOf({})).toBe(availableParallelism() > 1 ? 1 : 0)
  expect(await threadsOf({ webhookThread: true })).toBe(1)
  expect(await threadsOf({ webhookThread: false })).toBe(0)
})

it('the server uses no webhook thread without timers or with a custom clock', async () => {
  expect(await threadsOf({ worker: false })).toBe(0)
  expect(await threadsOf({ clock: { ...systemClock } })).toBe(0)
})
