// Mounts the service's routes in the Hono app of a host.
import { randomBytes, randomUUID } from 'node:crypto'
import { serve } from '@hono/node-server'
import { createService, functionRuntime, throwing } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { createHttpApp } from '@org/agent-messaging-http'
import { addressGuard, httpWebhookSender, outboundHttp } from '@org/agent-messaging-outbound'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'
import { Hono } from 'hono'

const platform = nodePlatform({ masterKey: randomBytes(32) })
const storage = openSqliteStorage({ path: ':memory:' })
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

const { projects, agents, keys } = throwing(service)
const { id: projectId } = await projects.create({ name: 'demo' })
await agents.create({ projectId, name: 'greeter', runtime: { kind: 'function', handler: 'greet' } })
const { key } = await keys.create({ projectId, name: 'example', permissions: ['project:message'] })

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
