// Mounts the service's routes in the Hono app of a host.
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { serve } from '@hono/node-server'
import { createService, functionRuntime, MessagingError } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { createHttpApp } from '@org/agent-messaging-adapter-http'
import {
  addressGuard,
  httpWebhookSender,
  outboundHttp,
} from '@org/agent-messaging-adapter-outbound'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'
import { Hono } from 'hono'

// The folder has the database and its master key. Back up both: no other key opens the database.
const folder = process.env['DATA'] ?? 'data'
mkdirSync(folder, { recursive: true, mode: 0o700 })

/** Returns the random text of a file. The first start creates the file. */
function secretIn(name: string): string {
  const file = path.join(folder, name)
  const text = randomBytes(32).toString('hex')
  if (!existsSync(file)) writeFileSync(file, text, { mode: 0o600, flag: 'wx', flush: true })
  return readFileSync(file, 'utf8')
}

const platform = nodePlatform({ masterKey: Buffer.from(secretIn('master-key'), 'hex') })
const storage = openSqliteStorage({ path: path.join(folder, 'messaging.db') })
const http = outboundHttp({ guard: addressGuard({}) })
const runtime = functionRuntime({
  greet: ({ message, executionPrincipal: principal }) =>
    `Hello ${principal.type === 'end_user' ? principal.endUserId : message}`,
})
const service = createService({
  ...platform,
  storage,
  sender: httpWebhookSender(http),
  runtimes: [runtime],
})
await service.start()

/** A later start finds the key of the first start. */
function unlessTaken(error: unknown): void {
  if (!(error instanceof MessagingError && error.kind.endsWith('_taken'))) throw error
}

const { projects, agents, keys } = service
const known = (await projects.list({ limit: 100 })).data.find(({ name }) => name === 'demo')
const { id: projectId } = known ?? (await projects.create({ name: 'demo' }))
const greet = { kind: 'function', handler: 'greet' }
await agents.declare({ projectId, agents: [{ name: 'greeter', runtime: greet }] })
const key = secretIn('api-key') // for your servers, not for browsers
const permissions = ['project:message'] as const
await keys.create({ projectId, name: 'example', permissions, key }).catch(unlessTaken)

const app = new Hono()
  .get('/', (c) => c.text('a page of the host'))
  .route('/', createHttpApp({ service, crypto: platform.crypto, newRequestId: randomUUID }))

const server = serve(
  { fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false },
  async ({ port }) => {
    const base = `http://127.0.0.1:${port}`
    console.log(await (await fetch(base)).text())
    const response = await fetch(`${base}/v1/agents/greeter/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        sessionId: 's1',
        message: 'hi',
        executionPrincipal: { type: 'end_user', endUserId: 'ada' },
      }),
    })
    const { status, response: answer } = (await response.json()) as {
      status: string
      response: string
    }
    console.log(response.status, status, answer)
    server.close()
    await service.stop()
    await Promise.all([http.close(), storage.close()])
  },
)
