// The service's routes inside a Hono app that has routes of its own.
import { randomBytes, randomUUID } from 'node:crypto'
import { serve } from '@hono/node-server'
import { createService, functionRuntime } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { createHttpApp } from '@org/agent-messaging-http'
import { addressGuard, httpWebhookSender, outboundHttp } from '@org/agent-messaging-outbound'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'
import { Hono } from 'hono'

const platform = nodePlatform({ masterKey: randomBytes(32) })
const storage = openSqliteStorage({ path: ':memory:' })
const http = outboundHttp({ guard: addressGuard({}) })
const agents = functionRuntime({
  greet: ({ message, executionPrincipal: who }) =>
    `Hello ${who.type === 'end_user' ? who.endUserId : message}`,
})
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
