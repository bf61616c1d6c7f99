import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createService } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import {
  addressGuard,
  httpWebhookSender,
  outboundHttp,
} from '@org/agent-messaging-adapter-outbound'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'
import { expect, it, onTestFinished } from 'vitest'

const examples = fileURLToPath(new URL('..', import.meta.url))
const EXAMPLE_KEY = 'the-api-key-of-the-test'

/** Starts the module of the Next.js app, sends as a caller does, and stops as a server does. */
const NEXT = `
  import { messaging } from ${JSON.stringify(pathToFileURL(path.join(examples, 'embed-in-next/lib/messaging.js')).href)}
  const app = await messaging()
  const response = await app.request('/v1/agents/greeter/messages', {
    method: 'POST',
    headers: { authorization: 'Bearer ${EXAMPLE_KEY}', 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId: 's1', message: 'ada' }),
  })
  console.log(response.status, (await response.json()).response)
  process.kill(process.pid, 'SIGTERM')
`

const EXAMPLES: readonly (readonly [string, string[]])[] = [
  ['embed-in-express', [path.join(examples, 'embed-in-express/dist/main.js')]],
  ['embed-in-fastify', [path.join(examples, 'embed-in-fastify/dist/main.js')]],
  ['serve-hono', [path.join(examples, 'serve-hono/dist/main.js')]],
  ['embed-in-next', ['--input-type=module', '--eval', NEXT]],
]

/** Opens the storage of an example, as a program that can reach the receiver of the test. */
async function withService<T>(
  folder: string,
  masterKey: Uint8Array,
  use: (service: ReturnType<typeof createService>) => Promise<T>,
): Promise<T> {
  const storage = openSqliteStorage({ path: path.join(folder, 'messaging.db') })
  const http = outboundHttp({ guard: addressGuard({ allowedCidrs: ['127.0.0.0/8'] }) })
  const sender = httpWebhookSender(http)
  const service = createService({ ...nodePlatform({ masterKey }), storage, sender, runtimes: [] })
  try {
    return await use(service)
  } finally {
    await service.stop()
    await Promise.all([http.close(), storage.close()])
  }
}

async function receiver() {
  const seen: (string | undefined)[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers['webhook-signature']?.toString())
    request.resume().on('end', () => response.end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

it.each(EXAMPLES)('%s starts twice on one file, and its deliveries succeed', async (_, args) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agent-messaging-example-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const env = { ...process.env, DATA: folder, EXAMPLE_KEY }
  const run = (failures: RegExp): string => {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      env,
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([0, expect.stringMatching(failures)])
    return stdout
  }
  const keyFile = () => readFileSync(path.join(folder, 'master-key'))
  const masterKey = () =>
    keyFile().length === 32 ? keyFile() : Buffer.from(keyFile().toString(), 'hex')

  const printed = run(/^$/)
  expect(printed).toContain('Hello ada')
  const { seen, url } = await receiver()
  const projectId = await withService(folder, masterKey(), async (service) => {
    const { projects, webhooks } = service
    const { data } = await projects.list({ limit: 10 })
    expect(data.map(({ name }) => name)).toEqual(['demo'])
    const id = data[0]?.id ?? ''
    await webhooks.create({ projectId: id, url, events: ['message.responded'] })
    return id
  })
  // The webhook's address is not public, and the example allows no other.
  expect(run(/^\S+ agent-messaging delivery\.attempted .*error=address_blocked.*\n$/)).toBe(printed)

  await withService(folder, masterKey(), async (service) => {
    const { projects, deliveries } = service
    expect((await projects.list({ limit: 10 })).data).toHaveLength(1)
    await service.start()
    const { data } = await deliveries.list({ projectId, limit: 10 })
    const [delivery] = data
    expect(data).toHaveLength(1)
    const ref = { projectId, deliveryId: delivery?.id ?? '' }
    await deliveries.redeliver(ref)
    await expect.poll(async () => (await deliveries.get(ref)).delivery.state.kind).toBe('delivered')
    expect(seen).toEqual([expect.stringMatching(/^v1,/)])
    expect(JSON.stringify(await deliveries.get(ref))).not.toContain('unsealable')
  })

  const stranger = withService(folder, randomBytes(32), (service) => service.start())
  await expect(stranger).rejects.toThrow('the master key does not match this database')
})
