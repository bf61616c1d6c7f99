import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it as test } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { needs } from '../../../scripts/test-needs.js'
import { CLI, until, createSandbox, type Program, type Sandbox } from './sandbox.js'

const KEY = 'an-api-key-for-the-tests'
const ENV = {
  PORT: '0',
  SERVICE_DATABASE_URL: 'file:service.db',
  SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  SERVICE_BOOTSTRAP_API_KEY: KEY,
}

type Server = { readonly program: Program; readonly url: string }

type Stage = Sandbox & {
  start(args?: readonly string[], env?: Record<string, string>): Promise<Server>
  /** The exit code and the error output of a start that fails. */
  failedStart(
    env: Record<string, string>,
    args?: readonly string[],
  ): Promise<[number | null, string]>
}

const it = test.extend<{ sandbox: Stage }>({
  sandbox: async ({ onTestFinished }, use) => {
    const sandbox = createSandbox()
    onTestFinished(sandbox.dispose)
    await use({
      ...sandbox,
      async start(args = [], env = {}) {
        const program = sandbox.cli(['start', ...args], { ...ENV, ...env })
        const line = await program.find(/^.*"msg":"listening"}$/m)
        return { program, url: (JSON.parse(line) as { url: string }).url }
      },
      async failedStart(env, args = []) {
        const program = sandbox.cli(['start', ...args], env)
        const code = await program.ended
        expect(program.stdout()).toBe('')
        return [code, program.stderr()]
      },
    })
  },
})

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

describe.concurrent('agent-messaging start', () => {
  // The first two wait for most of their time, while the others run.
  it('disconnects a peer that sends its headers slowly', async ({ sandbox }) => {
    const { url } = await sandbox.start()
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n')
    const slowWrites = setInterval(() => socket.write('X-A: 1\r\n'), 200)
    const answer: string[] = []
    socket.on('data', (chunk: Buffer) => answer.push(chunk.toString()))
    await new Promise((resolve) => socket.once('close', resolve))
    clearInterval(slowWrites)
    expect(answer.join('')).toMatch(/^(HTTP\/1.1 408 |$)/)
  })

  it('reports the missing program of an agent after a start without the agents file', async ({
    sandbox,
  }) => {
    sandbox.write('with.mjs', "export const programs = { cat: { command: 'cat' } }")
    const first = await sandbox.start(['--agents', 'with.mjs'])
    const runtime = { kind: 'process', program: 'cat' }
    expect((await call(first, '/v1/agents', { name: 'cat', runtime })).status).toBe(201)
    first.program.signal('SIGTERM')
    await first.program.ended
    const second = await sandbox.start()
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

  it('names each missing setting on its own line', async ({ sandbox }) => {
    expect(await sandbox.failedStart({})).toEqual([
      2,
      'SERVICE_DATABASE_URL is required; set it to a file: URL such as file:data/agent-messaging.db, or postgres://user:password@host/database\n' +
        'SERVICE_MASTER_KEY is required; set it to 32 bytes as base64 or hex, such as the output of `openssl rand -base64 32`\n',
    ])
  })

  it('names each wrong setting on its own line and shows no secret', async ({ sandbox }) => {
    const [code, said] = await sandbox.failedStart({
      ...ENV,
      PORT: 'http',
      SERVICE_MASTER_KEY: 'hunter2',
    })
    expect(code).toBe(2)
    expect(said.split('\n')).toEqual([
      'PORT must be a port from 0 to 65535 (0 picks a free port); got "http"',
      'SERVICE_MASTER_KEY must be 32 bytes as base64 or hex, such as the output of `openssl rand -base64 32`; got 7 characters (not shown)',
      '',
    ])
  })

  it('fails with one line when the master key has changed', async ({ sandbox }) => {
    const { program } = await sandbox.start()
    program.signal('SIGTERM')
    await program.ended
    const [code, said] = await sandbox.failedStart({
      ...ENV,
      SERVICE_MASTER_KEY: Buffer.alloc(32, 2).toString('base64'),
    })
    expect([code, said]).toEqual([
      2,
      'the master key does not match this database; use the key that encrypted the database\n',
    ])
  })

  it('fails with one line when the port is in use', async ({ sandbox }) => {
    const { port } = new URL((await sandbox.start()).url)
    expect(await sandbox.failedStart(ENV, ['--port', port])).toEqual([
      1,
      `port ${port} on 127.0.0.1 is in use; choose another with --port or PORT (0 picks a free port)\n`,
    ])
  })

  it('fails with one line when the file is not a database', async ({ sandbox }) => {
    sandbox.write(
      'service.db',
      'this text is not a database, but it is long enough to look like one at first glance',
    )
    expect(await sandbox.failedStart(ENV)).toEqual([
      1,
      expect.stringMatching(/^service.db: is not a SQLite database.*\n$/),
    ])
  })

  it('fails with one line when the agents file is missing', async ({ sandbox }) => {
    expect(await sandbox.failedStart(ENV, ['--agents', 'missing.js'])).toEqual([
      2,
      `--agents: file not found: ${sandbox.directory}/missing.js\n`,
    ])
  })

  it('fails with one line when neither timers nor the cron route can do work', async ({
    sandbox,
  }) => {
    const said = await sandbox.failedStart(ENV, ['--no-worker'])
    expect(said).toEqual([2, expect.stringContaining('--no-worker requires CRON_SECRET')])
  })

  it('rejects webhooks on loopback addresses unless the setting allows them', async ({
    sandbox,
  }) => {
    const webhook = { url: 'http://127.0.0.1:4000/', events: ['*'] }
    expect((await call(await sandbox.start(), '/v1/webhooks', webhook)).status).toBe(400)
    expect(
      (
        await call(
          await sandbox.start([], { SERVICE_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' }),
          '/v1/webhooks',
          webhook,
        )
      ).status,
    ).toBe(201)
  })

  it('runs the functions from --agents and logs each fact as a JSON line', async ({ sandbox }) => {
    const file = sandbox.write(
      'agents.mjs',
      'export default { shout: ({ message }) => message.toUpperCase() }',
    )
    const server = await sandbox.start(['--agents', file])
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

  it('exits with 1 and logs the reason after an unhandled error', async ({ sandbox }) => {
    const file = sandbox.write(
      'agents.mjs',
      'export default { bad: () => { setImmediate(() => { throw new Error("a defect") }); return new Promise(() => {}) } }',
    )
    const { program, url } = await sandbox.start(['--agents', file])
    await createAgent({ program, url }, 'bad')
    await send({ program, url }, 'bad', 'x').catch(() => undefined)
    expect(await program.ended).toBe(1)
    // Earlier lines can still follow, because the log is written asynchronously.
    expect(program.stdout()).toMatch(
      /"level":"error".*a defect.*"msg":"exiting because of an unhandled error"}\n/,
    )
  })

  it(
    'continues without its log when the disk is full, and stops on SIGTERM',
    needs('fullDevice'),
    async ({ sandbox }) => {
      const port = await freePort()
      const program = sandbox.run(
        'bash',
        ['-c', 'exec "$0" "$1" start > /dev/full', process.execPath, CLI],
        { ...ENV, PORT: String(port) },
      )
      const isUp = () => fetch(`http://127.0.0.1:${port}/healthz`).then(({ ok }) => ok)
      await until(() => isUp().catch(() => false))
      await until(
        () => program.stderr() === 'cannot write the log: ENOSPC: no space left on device, write\n',
      )
      expect(await isUp()).toBe(true)
      program.signal('SIGTERM')
      expect(await program.ended).toBe(0)
    },
  )

  it('stops on SIGTERM when its log has lost its reader', async ({ sandbox }) => {
    const { program } = await sandbox.start()
    program.closeStdout()
    program.signal('SIGTERM')
    expect(await program.ended).toBe(0)
  })
})

describe.concurrent('agent-messaging start on a signal', () => {
  const agents = `
    import { existsSync } from 'node:fs'
    import { setTimeout as delay } from 'node:timers/promises'
    export default {
      slow: async ({ message }) => { while (!existsSync('go')) await delay(20); return 'done: ' + message },
      stuck: () => new Promise(() => {}),
    }`

  it('answers waiting callers with 202, finishes their runs and exits with 0', async ({
    sandbox,
  }) => {
    const file = sandbox.write('agents.mjs', agents)
    const server = await sandbox.start(['--agents', file], { SERVICE_SHUTDOWN_GRACE_MS: '60000' })
    await createAgent(server, 'slow')
    const waiting = Array.from({ length: 10 }, (_, i) =>
      send(server, 'slow', String(i), `session-${i}`),
    )
    const running = async () =>
      ((await call(server, '/v1/agents/slow/messages?state=running')).body['data'] as unknown[])
        .length === 10
    await until(running)
    server.program.signal('SIGINT')
    server.program.signal('SIGINT') // npm sends a second signal for one Ctrl-C
    const answers = await Promise.all(waiting)
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(202))
    sandbox.write('go', '')
    expect(await server.program.ended).toBe(0)

    const again = await sandbox.start(['--agents', file])
    for (const [i, { body }] of answers.entries()) {
      const later = await call(again, `/v1/agents/slow/messages/${String(body['messageId'])}`)
      expect(later.body).toMatchObject({ status: 'responded', response: `done: ${i}`, attempt: 1 })
    }
  })

  it('does not wait for open connections', async ({ sandbox }) => {
    const server = await sandbox.start([], { SERVICE_SHUTDOWN_GRACE_MS: '60000' })
    await openSockets(server, 50, '')
    await openSockets(server, 50, 'GET /healthz HTTP/1.1\r\nHost: x\r\n')
    server.program.signal('SIGTERM')
    expect(await server.program.ended).toBe(0)
  })

  it('stops when its terminal is closed', async ({ sandbox }) => {
    const { program } = await sandbox.start()
    program.signal('SIGHUP')
    expect(await program.ended).toBe(0)
  })

  it('interrupts a run at the end of the grace period, and the next start repeats it', async ({
    sandbox,
  }) => {
    const file = sandbox.write('agents.mjs', agents)
    const server = await sandbox.start(['--agents', file], {
      SERVICE_SHUTDOWN_GRACE_MS: '100',
      SERVICE_SYNC_MESSAGE_TIMEOUT_MS: '0',
    })
    await createAgent(server, 'stuck')
    const { body } = await send(server, 'stuck', 'x')
    server.program.signal('SIGINT')
    expect(await server.program.ended).toBe(0)

    const again = await sandbox.start([
      '--agents',
      sandbox.write('better.mjs', 'export default { stuck: () => "done" }'),
    ])
    const message = async () =>
      (await call(again, `/v1/agents/stuck/messages/${String(body['messageId'])}`)).body
    await until(async () => (await message())['status'] === 'responded')
    expect(await message()).toMatchObject({ response: 'done' })
  })

  it('exits at once with 1 on a second signal', async ({ sandbox }) => {
    const file = sandbox.write('agents.mjs', agents)
    const server = await sandbox.start(['--agents', file], {
      SERVICE_SHUTDOWN_GRACE_MS: '3600000',
      SERVICE_SYNC_MESSAGE_TIMEOUT_MS: '0',
    })
    await createAgent(server, 'stuck')
    await send(server, 'stuck', 'x')
    server.program.signal('SIGTERM')
    const said = await server.program.find(
      /^.*"msg":"waiting for runs to finish; a second Ctrl-C \(SIGINT or SIGTERM\) exits at once".*$/m,
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
