// The service's routes inside an Express app that has routes of its own.
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createService, functionRuntime } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { createHttpApp } from '@org/agent-messaging-http'
import { addressGuard, httpWebhookSender, outboundHttp } from '@org/agent-messaging-outbound'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'
import express from 'express'

const platform = nodePlatform({ masterKey: randomBytes(32) })
const storage = openSqliteStorage({ path: ':memory:' })
const http = outboundHttp({ guard: addressGuard({}) })
const agents = functionRuntime({ greet: ({ message }) => `Hello ${message}` })
const service = createService({
  ...platform,
  storage,
  sender: httpWebhookSender(http),
  runtimes: [agents],
})
await service.start()

const { id: projectId } = (await service.projects.create({ name: 'demo' }))._unsafeUnwrap()
const runtime = { kind: 'function', handler: 'greet' }
await service.agents.create({ projectId, name: 'greeter', runtime, desiredState: 'running' })
const { key } = (
  await service.keys.create({ projectId, name: 'example', permissions: ['project:message'] })
)._unsafeUnwrap()

const messaging = createHttpApp({ service, crypto: platform.crypto, newRequestId: randomUUID })
const handle = getRequestListener(messaging.fetch, { overrideGlobalObjects: false })

const app = express()
// Before any body parser: the service reads bodies itself, bounded, and needs their bytes. Not app.use('/v1', …), which would cut the path.
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
