// Mounts the service's routes in the Fastify app of a host.
import { randomBytes, randomUUID } from 'node:crypto'
import { getRequestListener } from '@hono/node-server'
import { createService, functionRuntime, throwing } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { createHttpApp } from '@org/agent-messaging-http'
import { addressGuard, httpWebhookSender, outboundHttp } from '@org/agent-messaging-outbound'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'
import Fastify from 'fastify'

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

const app = Fastify()
app.get('/', () => 'a page of the host')
await app.register(async (routes) => {
  // The service needs the bytes of the body, so Fastify parses no bodies in this scope.
  routes.removeAllContentTypeParsers()
  routes.addContentTypeParser('*', (_request, _body, done) => done(null))
  routes.all('/v1/*', async (request, reply) => {
    void reply.hijack()
    await handle(request.raw, reply.raw)
  })
})

const base = await app.listen({ port: 0, host: '127.0.0.1' })
console.log(await (await fetch(base)).text())
const response = await fetch(`${base}/v1/agents/greeter/messages`, {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify({ sessionId: 's1', message: 'ada' }),
})
const { status, response: answer } = (await response.json()) as { status: string; response: string }
console.log(response.status, status, answer)

await app.close()
await service.stop()
await Promise.all([http.close(), storage.close()])
