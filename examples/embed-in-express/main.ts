// Mounts the service's routes in the Express app of a host.
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createService, functionRuntime, throwing } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { createHttpApp } from '@org/agent-messaging-http'
import { addressGuard, httpWebhookSender, outboundHttp } from '@org/agent-messaging-outbound'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'
import express from 'express'

const platform = nodePlatform({ masterKey: randomBytes(32) })
const storage = openSqliteStorage({ path: ':memory:' })
const http = outboundHttp({ guard: addressGuard({}) })
const runtime = functionRuntime({ greet: ({ message }) => `Hello ${message}` })
const service = createService({
  ...platform,
  storage,
  sender: httpWebhookSender(http),
  runtimes: [runtime],
})
await service.start()

const { projects, agents, keys } = throwing(service)
const { id: projectId } = await projects.create({ name: 'demo' })
await agents.create({ projectId, name: 'greeter', runtime: { kind: 'function', handler: 'greet' } })
const { key } = await keys.create({ projectId, name: 'example', permissions: ['project:message'] })

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
