import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createService, functionRuntime } from '@org/agent-messaging-core'
import { fakePlatform } from '@org/agent-messaging-testing'
import { createHttpApp } from '@org/agent-messaging-adapter-http'
import express from 'express'
import { expect, it, onTestFinished } from 'vitest'

/** Starts an Express app that cuts `/messaging` off the path. Returns its origin and an API key. */
async function serve() {
  const platform = fakePlatform()
  const runtimes = [functionRuntime({ echo: ({ message }) => message })]
  const service = createService({ ...platform, runtimes })
  await service.start()
  const { id: projectId } = await service.projects.create({ name: 'test' })
  const permissions = ['project:message', 'project:agents', 'project:webhooks'] as const
  const { key } = await service.keys.create({ projectId, name: 'test', permissions })
  const messaging = createHttpApp({
    service,
    crypto: platform.crypto,
    newRequestId: () => crypto.randomUUID(),
    basePath: '/messaging',
  })
  const handle = getRequestListener(messaging.fetch, { overrideGlobalObjects: false })
  const app = express()
  app.use('/messaging', (request, response) => void handle(request, response))
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.close()
    await service.stop()
  })
  return { key, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

it('Location headers contain the path that Express cuts off', async () => {
  const { key, origin } = await serve()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const post = (path: string, body: object) =>
    fetch(`${origin}/messaging/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const runtime = { kind: 'function', handler: 'echo' }
  const answers = [
    await post('/agents', { name: 'echo', runtime }),
    await post('/agents/echo/messages', { sessionId: 's', message: 'Hello' }),
    await post('/webhooks', { url: 'https://receiver.example/', events: ['*'] }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 201])
  for (const answer of answers) {
    const location = answer.headers.get('location') ?? ''
    expect(location).toMatch(/^\/messaging\/v1\//)
    expect((await fetch(origin + location, { headers })).status).toBe(200)
  }
})

it('the OpenAPI document names the path, and the links of the reference page work', async () => {
  const { origin } = await serve()
  const document = (await (await fetch(`${origin}/messaging/openapi.json`)).json()) as object
  expect(document).toMatchObject({ servers: [{ url: '/messaging' }] })
  const page = await fetch(`${origin}/messaging/docs`)
  const links = [...(await page.text()).matchAll(/href="([^#"][^"]*)"/g)].map(([, link]) => link)
  expect(links).toEqual(['docs/style.css', 'openapi.json'])
  for (const link of links) expect((await fetch(new URL(link ?? '', page.url))).status).toBe(200)
})
