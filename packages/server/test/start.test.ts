import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { needs } from '../../../scripts/test-needs.js'
import { CLI, until, workshop, type Program, type Workshop } from './workshop.js'

const KEY = 'an-api-key-for-the-tests'
const ENV = {
  PORT: '0',
  SERVICE_DATABASE_URL: 'file:service.db',
  SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  SERVICE_BOOTSTRAP_API_KEY: KEY,
}

let shop: Workshop
beforeEach(() => {
  shop = workshop()
})
afterEach(() => shop.dispose())

type Server = { readonly program: Program; readonly url: string }

async function start(
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Server> {
  const program = shop.cli(['start', ...args], { ...ENV, ...env })
  const line = await program.find(/^.*"msg":"listening"}$/m)
  return { program, url: (JSON.parse(line) as { url: string }).url }
}

/** How a start that fails ends: its exit code and what it says. */
async function failedStart(
  env: Record<string, string>,
  args: readonly string[] = [],
): Promise<[number | null, string]> {
  const program = shop.cli(['start', ...args], env)
  const code = await program.ended
  expect(program.stdout()).toBe('')
  return [code, program.stderr()]
}

async function call(
  { url }: Server,
  route: string,
  body?: unknown,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const response = await fetch(
    url + route,
    body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
  )
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const createAgent = (server: Server, handler: string) =>
  call(server, '/v1/agents', {
    name: handler,
    runtime: { kind: 'function', handler },
    desiredState: 'running',
  })
const send = (server: Server, agent: string, message: string, sessionId = 's') =>
  call(server, `/v1/agents/${agent}/messages`, { sessionId, message })

async function openSockets({ url }: Server, count: number, text: string): Promise<void> {
  const sockets = Array.from({ length: count }, () =>
    connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined),
  )
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  for (const socket of sockets) socket.write(text)
}

describe('agent-messaging start', () => {
  it('names what is not set, a line each', async () => {
    expect(await failedStart({})).toEqual([
      2,
      'SERVICE_DATABASE_URL is not set; it takes file: and a path, such as file:data/agent-messaging.db, or postgres://user:password@host/database\n' +
        'SERVICE_MASTER_KEY is not set; it takes 32 bytes as base64 or hex, such as `openssl rand -base64 32` makes\n',
    ])
  })

  it('names what is wrong, a line each, and shows no secret', async () => {
    const [code, said] = await failedStart({ ...ENV, PORT: 'http', SERVICE_MASTER_KEY: 'hunter2' })
    expect(code).toBe(2)
    expect(said.split('\n')).toEqual([
      'PORT is "http"; it takes a port, 0 to 65535 (0: any free one)',
      'SERVICE_MASTER_KEY is wrong (7 characters, not shown); it takes 32 bytes as base64 or hex, such as `openssl rand -base64 32` makes',
      '',
    ])
  })

  it('stops with a line at another master key than before', async () => {
    const { program } = await start()
    program.signal('SIGTERM')
    await program.ended
    const [code, said] = await failedStart({
      ...ENV,
      SERVICE_MASTER_KEY: Buffer.alloc(32, 2).toString('base64'),
    })
    expect([code, said]).toEqual([
      2,
      'SERVICE_MASTER_KEY is not the key that this database is sealed with; it takes that one\n',
    ])
  })

  it('stops with a line at a port in use', async () => {
    const { port } = new URL((await start()).url)
    expect(await failedStart({ ...ENV, PORT: port })).toEqual([
      1,
      `port ${port} on 127.0.0.1 is in use; set PORT to another (0: any free one)\n`,
    ])
  })

  it('stops with a line at a file that is no database', async () => {
    shop.write(
      'service.db',
      'this is not a database, but long enough to look like one to whoever does not look closely',
    )
    expect(await failedStart(ENV)).toEqual([
      1,
      expect.stringMatching(/^service.db: is not a SQLite database.*\n$/),
    ])
  })

  it('stops with a line at a wrong file of agents', async () => {
    expect(await failedStart(ENV, ['--agents', 'missing.js'])).toEqual([
      2,
      `--agents: there is no file ${shop.directory}/missing.js\n`,
    ])
  })

  it('stops with a line when nothing would ever do any work', async () => {
    const said = await failedStart(ENV, ['--no-worker'])
    expect(said).toEqual([2, expect.stringContaining('--no-worker needs CRON_SECRET')])
  })
  it('says what is missing to an agent whose program it was not given, after a start without it too', async () => {
    shop.write('with.mjs', "export const programs = { cat: { command: 'cat' } }")
    const first = await start(['--agents', 'with.mjs'])
    const runtime = { kind: 'process', program: 'cat' }
    expect((await call(first, '/v1/agents', { name: 'cat', runtime })).status).toBe(201)
    first.program.signal('SIGTERM')
    await first.program.ended
    const second = await start()
    const lastError = async () =>
      (await call(second, '/v1/agents/cat')).body['lastError'] as { message: string } | undefined
    await call(second, '/v1/agents/cat/start', {})
    await until(async () => (await lastError())?.message === 'this process has no program "cat"')
    const refused = await call(second, '/v1/agents', { name: 'dog', runtime })
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('--agents') } },
    })
  })
  it('refuses webhooks and agents on this machine unless they are allowed', async () => {
    const webhook = { url: 'http://127.0.0.1:4000/', events: ['*'] }
    expect((await call(await start(), '/v1/webhooks', webhook)).status).toBe(400)
    expect(
      (
        await call(
          await start([], { SERVICE_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' }),
          '/v1/webhooks',
          webhook,
        )
      ).status,
    ).toBe(201)
  })

  it('runs the functions of --agents, and logs each fact as a line of JSON', async () => {
    const file = shop.write(
      'agents.mjs',
      'export default { shout: ({ message }) => message.toUpperCase() }',
    )
    const server = await start(['--agents', file])
    await createAgent(server, 'shout')
    expect(await send(server, 'shout', 'hello')).toMatchObject({
      status: 200,
      body: { response: 'HELLO' },
    })
    const line = JSON.parse(await server.program.find(/^.*"msg":"run.finished"}$/m)) as object
    expect(line).toMatchObject({
      level: 'info',
      time: expect.stringMatching(/Z$/),
      attempt: 1,
      state: 'responded',
    })
    expect(server.program.stdout()).not.toMatch(/hello|HELLO|an-api-key/)
  })

  it('ends with 1 and a line that says why on an error that nobody handled', async () => {
    const file = shop.write(
      'agents.mjs',
      'export default { bad: () => { setImmediate(() => { throw new Error("a defect") }); return new Promise(() => {}) } }',
    )
    const { program, url } = await start(['--agents', file])
    await createAgent({ program, url }, 'bad')
    await send({ program, url }, 'bad', 'x').catch(() => undefined)
    expect(await program.ended).toBe(1)
    // Not always the last line: what was logged just before it may still be on its way out.
    expect(program.stdout()).toMatch(
      /"level":"error".*a defect.*"msg":"the process ends on an error that nobody handled"}\n/,
    )
  })

  it(
    'goes on without its log when that cannot be written, and can be stopped',
    needs('fullDevice'),
    async () => {
      const port = await freePort()
      const program = shop.run(
        'bash',
        ['-c', 'exec "$0" "$1" start > /dev/full', process.execPath, CLI],
        { ...ENV, PORT: String(port) },
      )
      const isUp = () => fetch(`http://127.0.0.1:${port}/healthz`).then(({ ok }) => ok)
      await until(() => isUp().catch(() => false))
      await until(
        () =>
          program.stderr() ===
          'the log cannot be written: ENOSPC: no space left on device, write\n',
      )
      expect(await isUp()).toBe(true)
      program.signal('SIGTERM')
      expect(await program.ended).toBe(0)
    },
  )

  it('cuts off headers that dribble', async () => {
    const { url } = await start()
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n')
    const dribble = setInterval(() => socket.write('X-A: 1\r\n'), 200)
    const answer: string[] = []
    socket.on('data', (chunk: Buffer) => answer.push(chunk.toString()))
    await new Promise((resolve) => socket.once('close', resolve))
    clearInterval(dribble)
    expect(answer.join('')).toMatch(/^(HTTP\/1.1 408 |$)/)
  })
})

describe('agent-messaging start, told to stop', () => {
  const agents = `
    import { setTimeout as delay } from 'node:timers/promises'
    export default {
      slow: async ({ message }) => { await delay(1500); return 'done: ' + message },
      stuck: () => new Promise(() => {}),
    }`

  it('answers waiting callers with 202, lets their runs finish, and exits with 0', async () => {
    const file = shop.write('agents.mjs', agents)
    const server = await start(['--agents', file], { SERVICE_SHUTDOWN_GRACE_MS: '60000' })
    await createAgent(server, 'slow')
    const waiting = Array.from({ length: 10 }, (_, i) =>
      send(server, 'slow', String(i), `session-${i}`),
    )
    const running = async () =>
      ((await call(server, '/v1/agents/slow/messages?state=running')).body['data'] as unknown[])
        .length === 10
    await until(running)
    server.program.signal('SIGINT')
    server.program.signal('SIGINT') // Ctrl-C under npm comes twice, and is one wish
    const answers = await Promise.all(waiting)
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(202))
    expect(await server.program.ended).toBe(0)

    const again = await start(['--agents', file])
    for (const [i, { body }] of answers.entries()) {
      const later = await call(again, `/v1/agents/slow/messages/${String(body['messageId'])}`)
      expect(later.body).toMatchObject({ status: 'responded', response: `done: ${i}`, attempt: 1 })
    }
  })

  it('does not wait for the connections of others', async () => {
    const server = await start([], { SERVICE_SHUTDOWN_GRACE_MS: '60000' })
    await openSockets(server, 50, '')
    await openSockets(server, 50, 'GET /healthz HTTP/1.1\r\nHost: x\r\n')
    server.program.signal('SIGTERM')
    expect(await server.program.ended).toBe(0)
  })

  it('drains when its terminal is closed', async () => {
    const { program } = await start()
    program.signal('SIGHUP')
    expect(await program.ended).toBe(0)
  })

  it('hands a run back at the end of the grace, and the next start runs it again', async () => {
    const file = shop.write('agents.mjs', agents)
    const server = await start(['--agents', file], {
      SERVICE_SHUTDOWN_GRACE_MS: '100',
      SERVICE_SYNC_MESSAGE_TIMEOUT_MS: '0',
    })
    await createAgent(server, 'stuck')
    const { body } = await send(server, 'stuck', 'x')
    server.program.signal('SIGINT')
    expect(await server.program.ended).toBe(0)

    const again = await start([
      '--agents',
      shop.write('better.mjs', 'export default { stuck: () => "done" }'),
    ])
    const message = async () =>
      (await call(again, `/v1/agents/stuck/messages/${String(body['messageId'])}`)).body
    await until(async () => (await message())['status'] === 'responded')
    expect(await message()).toMatchObject({ response: 'done' })
  })

  it('ends at once with 1 when it is told again', async () => {
    const file = shop.write('agents.mjs', agents)
    const server = await start(['--agents', file], {
      SERVICE_SHUTDOWN_GRACE_MS: '3600000',
      SERVICE_SYNC_MESSAGE_TIMEOUT_MS: '0',
    })
    await createAgent(server, 'stuck')
    await send(server, 'stuck', 'x')
    server.program.signal('SIGTERM')
    const said = await server.program.find(
      /^.*"msg":"runs under way are waited for; a second Ctrl-C \(SIGINT or SIGTERM\) ends at once".*$/m,
    )
    expect(JSON.parse(said)).toMatchObject({
      level: 'warn',
      runs: 1,
      until: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    const again = setInterval(() => server.program.signal('SIGTERM'), 100)
    expect(await server.program.ended).toBe(1)
    clearInterval(again)
  })
})
