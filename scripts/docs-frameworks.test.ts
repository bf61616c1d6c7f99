import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMessaging, type HttpHandlers, type Messaging } from '@org/agent-messaging-node'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { codeInTables } from './code-in-tables.js'

type Ask = (path: string, init?: RequestInit) => Promise<Response>

let messaging: Messaging
let http: HttpHandlers
let headers: Record<string, string>
beforeAll(async () => {
  const agents = { echo: ({ message }: { message: string }) => message }
  messaging = await createMessaging({ database: ':memory:', agents })
  http = await messaging.http()
  const { key } = await messaging.keys.create({ name: 'test', permissions: ['project:message'] })
  headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
})
afterAll(() => messaging.stop())

/** Runs the code of the page with these names, and returns its value. */
const run = (code: string, names: object): unknown =>
  // oxlint-disable-next-line typescript/no-implied-eval -- code of this repository
  new Function('http', ...Object.keys(names), `return ${code}`)(http, ...Object.values(names))

async function served(server: Server): Promise<Ask> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init)
}

const asked =
  (handle: (request: Request) => Response | Promise<Response>): Ask =>
  async (path, init) =>
    handle(new Request(`http://127.0.0.1${path}`, init))

async function inExpress(code: string): Promise<Ask> {
  const app = express()
  run(code, { app })
  app.use(express.json())
  return served(createServer(app))
}

/** Starts a host around the code of a framework. Nest has the `app.use` of Express. */
const hosts: Readonly<Record<string, (code: string) => Promise<Ask>>> = {
  'node:http': async (code) => served(run(code, { createServer }) as Server),
  Express: inExpress,
  Nest: inExpress,
  Fastify: async (code) => {
    const app = fastify()
    run(code, { app })
    await app.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(() => app.close())
    return (path, init) => fetch(`${app.listeningOrigin}${path}`, init)
  },
  Hono: async (code) => {
    const app = new Hono()
    run(code, { app })
    return asked((request) => app.fetch(request))
  },
  Bun: async (code) => {
    const Bun = { serve: ({ fetch }: { fetch: typeof http.fetch }) => asked(fetch) }
    return run(code, { Bun }) as Ask
  },
  Deno: async (code) => run(code, { Deno: { serve: asked } }) as Ask,
}

const page = readFileSync(new URL('../docs/embedding.md', import.meta.url), 'utf8')

describe('the code that embedding.md has for a framework serves the API', () => {
  const rows = codeInTables(page)

  it('has a host here for each framework', () => {
    expect(rows.map(({ name }) => name).toSorted()).toEqual(Object.keys(hosts).toSorted())
  })

  it.each(rows)('$name', async ({ name, code }) => {
    const ask = await hosts[name]?.(code)
    const body = JSON.stringify({ sessionId: 's', message: 'Hello' })
    const sent = await ask?.('/v1/agents/echo/messages', { method: 'POST', headers, body })
    expect(await sent?.json()).toMatchObject({ response: 'Hello' })
  })
})
