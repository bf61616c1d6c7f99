// Mounts the service's routes in the Express app of a host.
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { createService, functionRuntime, MessagingError } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { createHttpApp } from '@org/agent-messaging-adapter-http'
import {
  addressGuard,
  httpWebhookSender,
  outboundHttp,
} from '@org/agent-messaging-adapter-outbound'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'
import express from 'express'

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
const runtime = functionRuntime({ greet: ({ message }) => `Hello ${message}` })
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

const messaging = createHttpApp({ service, crypto: platform.crypto, newRequestId: randomUUID })
const handle = getRequestListener(messaging.fetch, { overrideGlobalObjects: false })

const app = express()
// Keep this before any body parser: the service needs the bytes of the body.
// app.use('/v1', …) would cut the path. For that, see the option basePath.
app.use((request, response, next) =>
  request.path.startsWith('/v1/') ? handle(request, response) : next(),
)
app.use(express.json())
app.get('/', (_, response) => void response.send('a page of the host'))

const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(await (await fetch(base)).text())
const response = await fetch(`${base}/v1/agents/greeter/messages`, {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify({ sessionId: 's1', message: 'ada' }),
})
const { status, response: answer } = (await response.json()) as { status: string; response: string }
console.log(response.status, status, answer)

server.close()
await service.stop()
await Promise.all([http.close(), storage.close()])
