import { once } from 'node:events'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { defaultLimits, type Telemetry } from '@org/agent-messaging-core/runtime'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { silentLogger, type Logger } from './telemetry/logging.js'
import { OperatorError } from './operator-error.js'
import { createServer, type RunningServer, type ServerOptions } from './server.js'

const KEY = 'an-api-key-for-the-tests'
const CRON_SECRET = 'a-cron-secret'

/** A minimal agent program. */
const SHOUT = `
  const say = (message) => console.log(JSON.stringify(message))
  say({ type: 'ready', protocol: 1 })
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { type, id, message } = JSON.parse(line)
    if (type === 'run') console.error('shouting')
    if (type === 'run') say({ type: 'answer', id, response: message.toUpperCase() })
  })`

let root: string
const open: { stop(): Promise<void> }[] = []
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'server-'))
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.stop()))
  rmSync(root, { recursive: true })
})

async function serve(options: Partial<ServerOptions> = {}): Promise<RunningServer> {
  const database = { databasePath: path.join(root, 'service.db'), masterKey: Buffer.alloc(32, 1) }
  const server = await createServer({
    ...database,
    port: 0,
    bootstrapApiKey: KEY,
    cronSecret: CRON_SECRET,
    ...options,
  })
  open.push(server)
  return server
}

function call({ url }: RunningServer, route: string, body?: unknown, key = KEY): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return fetch(
    url + route,
    body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
  )
}

async function createAgent(
  server: RunningServer,
  name: string,
  runtime: object = { kind: 'function', handler: name },
): Promise<void> {
  const created = await call(server, '/v1/agents', { name, runtime, desiredState: 'running' })
  expect(await created.json()).toMatchObject({ name, state: 'running' })
}

const send = (server: RunningServer, agent: string, message: string): Promise<Response> =>
  call(server, `/v1/agents/${agent}/messages`, { sessionId: 's', message })

describe('other protocols', () => {
  const models = (server: RunningServer, key?: string): Promise<Response> =>
    call(server, '/openai/v1/models', undefined, key)

  it('are served only if they are set', async () => {
    expect((await models(await serve())).status).toBe(404)
    expect(
      (await models(await serve({ endpoints: ['openai'], databasePath: ':memory:' }))).status,
    ).toBe(200)
  })

  it('count wrong credentials', async () => {
    const server = await serve({ endpoints: ['openai'] })
    const statuses = []
    for (let sent = 0; sent < 202; sent++)
      statuses.push((await models(server, 'a-wrong-key-of-20-characters')).status)
    expect(statuses.slice(-2)).toEqual([401, 429])
  })
})

describe('createServer', () => {
  it('closes the database if it fails', async () => {
    await expect(serve({ addresses: { allowedCidrs: ['10/8'] } })).rejects.toThrow(
      '"10/8" is not a CIDR',
    )
    const storage = openSqliteStorage({ path: path.join(root, 'service.db') })
    expect(storage.alone).toBe(true)
    await storage.close()
  })
  it('runs the given agent functions and the built-in echo', async () => {
    const server = await serve({ agents: { shout: ({ message }) => message.toUpperCase() } })
    await createAgent(server, 'shout')
    await createAgent(server, 'echo')
    expect(await (await send(server, 'shout', 'hello')).json()).toMatchObject({
      status: 'responded',
      response: 'HELLO',
    })
    expect(await (await send(server, 'echo', 'hello')).json()).toMatchObject({
      status: 'responded',
      response: 'hello',
    })
  })

  it('runs the given programs and logs their output', async () => {
    const lines: unknown[] = []
    const logger: Logger = {
      ...silentLogger,
      info: (details: object, text?: string) => void lines.push({ ...details, text }),
    }
    const server = await serve({
      logger,
      programs: { shout: { command: process.execPath, args: ['-e', SHOUT] } },
    })
    await createAgent(server, 'shout', { kind: 'process', program: 'shout' })
    expect(await (await send(server, 'shout', 'hello')).json()).toMatchObject({
      status: 'responded',
      response: 'HELLO',
    })
    // The two outputs of a program have no common order.
    await expect
      .poll(() => lines)
      .toContainEqual(
        expect.objectContaining({ text: 'program.stderr', program: 'shout', line: 'shouting' }),
      )
    const refused = await call(server, '/v1/agents', {
      name: 'sh',
      runtime: { kind: 'process', program: '/bin/sh' },
    })
    expect(await refused.json()).toMatchObject({
      error: { message: 'runtime program must be one of: shout' },
    })
  })

  it('rejects program agents if no programs are given', async () => {
    const refused = await call(await serve(), '/v1/agents', {
      name: 'sh',
      runtime: { kind: 'process', program: 'sh' },
    })
    expect(refused.status).toBe(400)
  })

  it('reports facts to the given telemetry', async () => {
    const names: string[] = []
    const telemetry: Telemetry = { record: ({ name }) => void names.push(name) }
    const server = await serve({ telemetry })
    await createAgent(server, 'echo')
    await send(server, 'echo', 'hello')
    expect(names).toEqual(
      expect.arrayContaining(['agent.changed', 'message.accepted', 'run.finished']),
    )
  })

  it('logs a failure once, and writes nothing to stderr itself', async () => {
    const lines: unknown[] = []
    const logger: Logger = {
      ...silentLogger,
      warn: (_: object, text?: string) => void lines.push(text),
    }
    const stderr = vi.spyOn(process.stderr, 'write')
    onTestFinished(() => stderr.mockRestore())
    const agents = { broken: () => Promise.reject(new Error('broken')) }
    const server = await serve({ logger, agents })
    await createAgent(server, 'broken')
    await send(server, 'broken', 'hello')
    expect(lines.filter((text) => text === 'run.finished')).toHaveLength(1)
    expect(stderr.mock.calls.filter(([text]) => String(text).includes('run.finished'))).toEqual([])
  })

  it('is not ready after it has read a damaged page, and logs how to recover', async () => {
    const first = await serve()
    await createAgent(first, 'echo')
    await send(first, 'echo', 'a needle')
    await first.stop()
    const file = path.join(root, 'service.db')
    const bytes = readFileSync(file)
    const page = Math.floor(bytes.indexOf('a needle') / 4096)
    writeFileSync(file, bytes.fill(0xff, page * 4096, (page + 1) * 4096))
    const lines: unknown[] = []
    const logger: Logger = { ...silentLogger, error: (details: object) => void lines.push(details) }
    const server = await serve({ logger })
    expect((await call(server, '/v1/agents/echo/messages')).status).toBe(503)
    expect((await call(server, '/readyz')).status).toBe(503)
    expect(lines).toContainEqual({
      reason: expect.stringContaining(`${file}: SQLite reports damage`),
    })
  })

  it('refuses sends while its file is moved away, and continues when the file is back', async () => {
    const lines: unknown[] = []
    const logger: Logger = { ...silentLogger, error: (details: object) => void lines.push(details) }
    const server = await serve({ logger })
    await createAgent(server, 'echo')
    const file = path.join(root, 'service.db')
    renameSync(file, `${file}.moved`)
    expect((await send(server, 'echo', 'hello')).status).toBe(503)
    expect((await call(server, '/readyz')).status).toBe(503)
    expect(lines).toContainEqual({ reason: expect.stringContaining('Move the original file back') })
    renameSync(`${file}.moved`, file)
    expect((await call(server, '/readyz')).status).toBe(200)
    expect(await (await send(server, 'echo', 'hello')).json()).toMatchObject({ response: 'hello' })
  })

  it('limits wrong sign-ins to the console by address, and no valid key', async () => {
    const server = await serve({ console: 'on' })
    expect((await call(server, '/v1/agents')).status).toBe(200)
    const signIn = (key: string) =>
      fetch(`${server.url}/console/sign-in`, {
        method: 'POST',
        headers: { origin: server.url },
        body: new URLSearchParams({ key }),
        redirect: 'manual',
      })
    const statuses: number[] = []
    for (let i = 0; i < 30; i++) statuses.push((await signIn(`wrong ${i}`)).status)
    expect([statuses.slice(0, 20), statuses.at(-1)]).toEqual([Array(20).fill(401), 429])
    expect((await call(server, '/v1/agents')).status).toBe(200)
  })

  it('sends a callback URL to HTTP agents', async () => {
    const asked: unknown[] = []
    const agent = createHttpServer((request, response) => {
      void json(request).then((body) => {
        asked.push(body)
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"response":"done"}')
      })
    }).listen(0, '127.0.0.1')
    await once(agent, 'listening')
    const server = await serve({
      addresses: { allowLoopback: true },
      publicUrl: (ownUrl) => `${ownUrl}/base`,
    })
    await createAgent(server, 'remote', {
      kind: 'http',
      url: `http://127.0.0.1:${(agent.address() as AddressInfo).port}/`,
    })
    expect(await (await send(server, 'remote', 'hello')).json()).toMatchObject({ response: 'done' })
    expect(asked).toEqual([
      expect.objectContaining({
        callback: expect.objectContaining({
          url: expect.stringContaining(`${server.url}/base/v1/agents/`),
        }),
      }),
    ])
    agent.close()
  })

  it('stops waiting for a caller that disconnects, and only for that one', async () => {
    const server = await serve({ agents: { never: () => new Promise<never>(() => undefined) } })
    await createAgent(server, 'never')
    const leaving = new AbortController()
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const ask = (sessionId: string, signal?: AbortSignal) =>
      fetch(`${server.url}/v1/agents/never/messages`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ sessionId, message: 'hello' }),
        ...(signal && { signal }),
      })
    const [left, stayed] = [ask('leaves', leaving.signal), ask('stays')]
    await vi.waitUntil(() => server.service.host.load().waitingCallers === 2, 60_000)
    leaving.abort()
    await expect(left).rejects.toThrow('aborted')
    await vi.waitUntil(() => server.service.host.load().waitingCallers === 1, 60_000)
    await server.stop({ graceMs: 1_000 })
    expect((await stayed).status).toBe(202)
  })

  it('leaves all background work to the cron route without workers', async () => {
    const server = await serve({ worker: false, policy: { syncWaitMs: 0 } })
    const cron = async () =>
      expect((await call(server, '/api/cron/webhooks', undefined, CRON_SECRET)).status).toBe(200)
    await call(server, '/v1/agents', {
      name: 'echo',
      runtime: { kind: 'function', handler: 'echo' },
      desiredState: 'running',
    })
    expect((await send(server, 'echo', 'too early')).status).toBe(409)
    await cron()
    const { messageId } = (await (await send(server, 'echo', 'hello')).json()) as {
      messageId: string
    }
    const stateOf = async () =>
      (await (await call(server, `/v1/agents/echo/messages/${messageId}`)).json()) as {
        state: string
      }
    expect(await stateOf()).toMatchObject({ state: 'queued' })
    await cron()
    expect(await stateOf()).toMatchObject({ state: 'responded' })
  })

  it('stops once, even if stop is called twice', async () => {
    const server = await serve()
    const first = server.stop()
    expect(server.stop()).toBe(first)
    await first
    await expect(call(server, '/healthz')).rejects.toThrow('fetch failed')
  })
})

describe('the metrics of a server', () => {
  const metricsOf = (server: RunningServer, key: string) => call(server, '/metrics', undefined, key)

  it('are off by default', async () => {
    expect((await metricsOf(await serve(), KEY)).status).toBe(404)
  })

  it('are readable with the token', async () => {
    const server = await serve({ metricsToken: 'a-token' })
    await createAgent(server, 'echo')
    await send(server, 'echo', 'hello')
    expect((await metricsOf(server, KEY)).status).toBe(401)
    const text = await (await metricsOf(server, 'a-token')).text()
    expect(text).toContain('agent_messaging_runs_total{state="responded",agent="echo"} 1')
    expect(text).toContain(
      'agent_messaging_messages_accepted_total{attached="false",agent="echo"} 1',
    )
    expect(text).toMatch(
      /^agent_messaging_http_requests_total\{method="POST",route="\/v1\/agents\/:\w+\/messages",status="200"\} 1$/m,
    )
  })

  it('have their own port until the server stops', async () => {
    const server = await serve({ metricsPort: 0 })
    const url = server.metricsUrl ?? ''
    expect(url).not.toContain(server.url)
    expect(await (await fetch(url)).text()).toContain('agent_messaging_storage_up 1')
    expect((await fetch(url.replace('metrics', 'v1/agents'))).status).toBe(404)
    expect((await metricsOf(server, KEY)).status).toBe(404)
    await server.stop()
    await expect(fetch(url)).rejects.toThrow('fetch failed')
  })

  it('name the setting of a port in use, and release the other port', async () => {
    const other = createHttpServer().listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const [port, taken] = [await freePort(), (other.address() as AddressInfo).port]
    await expect(serve({ port, metricsPort: taken })).rejects.toThrow(
      /in use; choose another with SERVICE_METRICS_PORT/,
    )
    const storage = openSqliteStorage({ path: path.join(root, 'service.db') })
    expect(storage.alone).toBe(true)
    await storage.close()
    expect((await serve({ port })).url).toBe(`http://127.0.0.1:${port}`)
  })
})

describe('the start of a server', () => {
  it('fails if the master key does not match the database', async () => {
    await (await serve()).stop()
    const other = serve({ masterKey: Buffer.alloc(32, 2) })
    await expect(other).rejects.toMatchObject({
      message: expect.stringContaining('the master key does not match this database'),
      exitCode: 2,
    })
  })

  it('fails if the port is in use, and does not disturb the server on that port', async () => {
    const server = await serve()
    await createAgent(server, 'echo')
    await expect(serve({ port: Number(new URL(server.url).port) })).rejects.toThrow(
      'is in use; choose another with --port or PORT',
    )
    expect((await send(server, 'echo', 'hello')).status).toBe(200)
  })

  it('fails if the folder of the database is missing', async () => {
    await expect(
      serve({ databasePath: path.join(root, 'missing', 'service.db') }),
    ).rejects.toMatchObject({
      message: expect.stringContaining('folder does not exist'),
      exitCode: 1,
    })
  })

  it('creates the project and the bootstrap key once, even if several servers start together', async () => {
    const servers = await Promise.all([serve(), serve(), serve(), serve()])
    const [first] = servers
    const projects = (await first.service.projects.list({ limit: 100 })).data
    expect(projects.map(({ name }) => name)).toEqual(['default'])
    const keys = (await first.service.keys.list({ projectId: projects[0]?.id ?? '', limit: 100 }))
      .data
    expect(keys).toHaveLength(1)
    for (const server of servers) expect((await call(server, '/v1/agents')).status).toBe(200)
  })

  it('uses an existing project "default"', async () => {
    const without = await serve({ bootstrapApiKey: undefined })
    const made = await without.service.projects.create({ name: 'default' })
    const server = await serve()
    expect((await server.service.projects.list({ limit: 100 })).data).toEqual([made])
    expect((await server.service.host.authenticate({ key: KEY })).projectId).toBe(made.id)
  })

  function warned(): { logger: Logger; warnings: unknown[] } {
    const warnings: unknown[] = []
    const warn = (details: unknown, text: unknown): void => void warnings.push([details, text])
    return {
      logger: { debug: () => {}, info: () => {}, error: () => {}, warn } as unknown as Logger,
      warnings,
    }
  }

  it('warns about a revoked bootstrap key', async () => {
    const { service } = await serve()
    const { id, projectId } = await service.host.authenticate({ key: KEY })
    await service.keys.revoke({ projectId, keyId: id })
    const { logger, warnings } = warned()
    const server = await serve({ logger })
    expect(warnings).toEqual([[{ projectId }, expect.stringContaining('revoked')]])
    expect((await call(server, '/v1/agents')).status).toBe(401)
  })

  it('fails if the project has the maximum number of keys, but accepts an existing key', async () => {
    const full = { policy: { limits: { ...defaultLimits, keysPerProject: 1 } } }
    await (await serve(full)).stop()
    await (await serve(full)).stop()
    await expect(
      serve({ ...full, bootstrapApiKey: 'another-api-key-for-the-tests' }),
    ).rejects.toEqual(
      new OperatorError(
        'cannot create the bootstrap API key: the project has the maximum number of valid keys; see `keys list` and `keys revoke`',
      ),
    )
  })

  it('warns about an earlier bootstrap key until it is revoked', async () => {
    const { service } = await serve()
    const { id, projectId } = await service.host.authenticate({ key: KEY })
    const { logger, warnings } = warned()
    const changed = { logger, bootstrapApiKey: 'another-api-key-for-the-tests' }
    await serve(changed)
    expect(warnings.splice(0)).toEqual([
      [{ keyId: id }, 'an earlier bootstrap API key is still valid; revoke it with `keys revoke`'],
    ])
    await service.keys.revoke({ projectId, keyId: id })
    await serve(changed)
    expect(warnings).toEqual([])
  })
})
