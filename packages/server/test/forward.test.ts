import { once } from 'node:events'
import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { API_KEY, realServer, type RealServer } from './e2e/real-server.js'
import { receiver } from './e2e/receiver.js'
import { createSandbox, until, type Sandbox } from './sandbox.js'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const SLOWLY = { timeout: 240_000 }

let server: RealServer
let agentId: string
let sandbox: Sandbox
const closers: (() => Promise<void>)[] = []
beforeAll(async () => {
  server = await realServer()
  sandbox = createSandbox()
  sandbox.write('secret.txt', SECRET)
  const agent = { name: 'echo', runtime: { kind: 'function', handler: 'echo' } }
  ;({ id: agentId } = (await (await server.api('POST', '/v1/agents', agent)).json()) as {
    id: string
  })
}, 240_000)
afterEach(() => Promise.all(closers.splice(0).map((close) => close())))
afterAll(async () => {
  await sandbox.dispose()
  await server.dispose()
})

const send = (sessionId: string, metadata = {}) =>
  server.api('POST', '/v1/agents/echo/messages', { sessionId, message: 'Hello', metadata })

async function opened(answer?: Parameters<typeof receiver>[0]) {
  const open = await receiver(answer)
  closers.push(open.close)
  return open
}

/** Starts the command, and waits until it follows the log. */
async function forward(url: string, ...more: readonly string[]) {
  const on = ['--url', server.url, '--api-key', API_KEY, ...more]
  const program = sandbox.cli(['listen', '--forward', url, ...on])
  await program.find(/Waiting for the events after/)
  return program
}

async function stop(program: Awaited<ReturnType<typeof forward>>) {
  program.signal('SIGKILL')
  await program.ended
}

const withSecret = ['--secret-file', 'secret.txt']
type Received = Awaited<ReturnType<typeof receiver>>['received'][number]
const sessionOf = ({ body }: Received): string =>
  (JSON.parse(body) as { data: { sessionId: string } }).data.sessionId

/** Verifies the signature with the library of Standard Webhooks. */
const verified = ({ body, headers }: Received, secret = SECRET) =>
  new Webhook(secret).verify(body, headers as Record<string, string>)

describe('listen --forward', SLOWLY, () => {
  it('posts what happens from now on, signed with the secret of the file', async () => {
    const { url, received } = await opened()
    await send('before')
    const program = await forward(url, ...withSecret)
    await send('signed')
    const line = await program.find(/^.*--after \S+$/m)
    expect(line).toMatch(/^\d\d:\d\d:\d\d {2}message\.responded {2}200 {2}--after \S+$/)
    await stop(program)
    expect(received.map(sessionOf)).toEqual(['signed'])
    const [first] = received as [Received]
    expect(verified(first)).toMatchObject({ event: 'message.responded', data: { agentId } })
    expect(first.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': 'message.responded',
      'x-service-delivery': first.headers['webhook-id'],
      'x-service-signature': expect.stringMatching(/^sha256=[\da-f]{64}$/),
    })
    expect(first.headers['webhook-id']).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-8/)
    expect(program.stdout()).not.toContain(SECRET)
  })

  it('has the headers and the body of a delivery', async () => {
    const [forwarded, delivered] = [await opened(), await opened()]
    const program = await forward(forwarded.url, ...withSecret)
    const webhook = { url: delivered.url, events: ['message.responded'], secret: SECRET }
    const { id } = (await (await server.api('POST', '/v1/webhooks', webhook)).json()) as {
      id: string
    }
    await send('compared', { channel: 'a', text: 'é"\\u0000', 10: 1, 9: [1e21, -0.5] })
    await program.find(/--after \S+$/m)
    await until(() => delivered.received.length === 1)
    await stop(program)
    await server.api('DELETE', `/v1/webhooks/${id}`)
    const [[one], [other]] = [forwarded.received, delivered.received]
    expect(one?.body).toBe(other?.body)
    const names = (of: Received | undefined) => Object.keys(of?.headers ?? {})
    expect(names(one)).toEqual(names(other))
  })

  it('prints the secret that it makes', async () => {
    const { url, received } = await opened()
    const program = await forward(url)
    await send('own secret')
    await program.find(/--after \S+$/m)
    await stop(program)
    const [, secret] = /secret is (whsec_\S+)/.exec(program.stdout()) ?? []
    expect(verified(received[0] as Received, secret)).toMatchObject({ event: 'message.responded' })
  })

  it('forwards the events that --events and --filter name', async () => {
    const { url, received } = await opened()
    const filter = JSON.stringify({
      agentId,
      sessionIdPrefix: 'kept',
      metadata: [{ path: 'plan', equals: 'gold' }],
    })
    const names = ['--events', 'agent.error,message.*', '--filter', filter]
    const program = await forward(url, ...withSecret, ...names)
    const others = await opened()
    const other = await forward(others.url, ...withSecret, '--events', 'agent.*')
    await send('kept 1', { plan: 'gold' })
    await send('kept 2', { plan: 'free' })
    await send('other', { plan: 'gold' })
    await send('kept 3', { plan: 'gold' })
    await until(() => received.length === 2)
    expect(received.map(sessionOf)).toEqual(['kept 1', 'kept 3'])
    await server.api('POST', `/v1/agents/${agentId}/stop`)
    await other.find(/agent\.stopped/)
    await server.api('POST', `/v1/agents/${agentId}/start`)
    await other.find(/agent\.started/)
    expect(others.received.map(({ headers }) => headers['x-service-event'])).toEqual([
      'agent.stopped',
      'agent.started',
    ])
    await Promise.all([stop(program), stop(other)])
  })

  it('forwards published events, also if their data has a sessionId that is no text', async () => {
    const { url, received } = await opened()
    const names = ['--events', 'order.*', '--filter', '{"sessionIdPrefix":"kept"}']
    const program = await forward(url, ...withSecret, ...names)
    const publish = (event: object) => server.api('POST', '/v1/events', event)
    await publish({ type: 'order.paid', data: { sessionId: 5 } })
    await publish({ type: 'invoice.paid', sessionId: 'kept', data: {} })
    await publish({ type: 'order.big.paid', id: 'own id', sessionId: 'kept', data: { n: 1 } })
    await program.find(/order\.big\.paid {2}200/)
    await stop(program)
    expect(received.map((one) => verified(one))).toEqual([
      expect.objectContaining({ id: 'own id', data: { n: 1, sessionId: 'kept' } }),
    ])
  })

  it('repeats a failure with the same id, keeps the order, and loses none over kills', async () => {
    let isBroken = true
    const { url, received } = await opened(() => (isBroken ? 503 : 200))
    const first = await forward(url, ...withSecret)
    const [start] = /(?<=events after )\S+/.exec(first.stdout()) ?? []
    for (const n of [1, 2, 3]) await send(`order ${n}`)
    await first.find(/503 {2}again in 250 ms[^]*503 {2}again in 500 ms/)
    await stop(first)
    isBroken = false
    const second = await forward(url, ...withSecret, '--after', `${start}`)
    await second.find(/--after \S+\n/)
    await stop(second)
    const cursors = [...second.stdout().matchAll(/200 {2}--after (\S+)\n/g)]
    const third = await forward(url, ...withSecret, '--after', `${cursors.at(-1)?.[1]}`)
    await send('order 4')
    await until(() => sessionOf(received.at(-1) as Received) === 'order 4')
    await stop(third)
    const ids = new Map(received.map((one) => [sessionOf(one), one.headers['webhook-id']]))
    expect([...ids.keys()]).toEqual(['order 1', 'order 2', 'order 3', 'order 4'])
    expect(new Set(ids.values()).size).toBe(4)
    for (const one of received) expect(one.headers['webhook-id']).toBe(ids.get(sessionOf(one)))
    const accepted = received.filter(({ status }) => status === 200).map(sessionOf)
    expect(accepted).toEqual(accepted.toSorted())
  })

  it('goes on after a receiver that was away, and after a restart of the server', async () => {
    const { url, received, close } = await receiver()
    await close()
    const program = await forward(url, ...withSecret)
    await send('away')
    await program.find(/connect: .*again in/)
    await server.kill('SIGKILL')
    const { port } = new URL(url)
    const back = createServer((request, response) => {
      received.push({ headers: request.headers, body: '', status: 200 })
      response.end()
    }).listen(Number(port), '127.0.0.1')
    await once(back, 'listening')
    closers.push(async () => void back.close())
    await program.find(/200 {2}--after/)
    await server.start()
    await send('restarted')
    await program.find(/200 {2}--after[^]*200 {2}--after/)
    await stop(program)
    expect(received).toHaveLength(2)
  })

  it('reads the database without a server', async () => {
    const { url, received } = await opened()
    const env = {
      SERVICE_DATABASE_URL: `file:${server.folder}/service.db`,
      SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    }
    const program = sandbox.cli(['listen', '--forward', url, ...withSecret], env)
    await program.find(/Waiting for the events after/)
    await send('from the file')
    await program.find(/--after \S+$/m)
    await stop(program)
    expect(received.map(sessionOf)).toEqual(['from the file'])
  })

  it.each([
    [['--forward', 'localhost:8080'], /the URL of --forward must be/],
    [['--events', 'order.*'], /--events needs --forward/],
    [['--forward', 'http://a.test', '--events', 'order'], /must be one of/],
    [['--forward', 'http://a.test', '--filter', '{"agent":"a"}'], /unknown fields: agent/],
    [
      ['--forward', 'http://a.test', '--filter', '{"metadata":[{"path":"a"}]}'],
      /equals, exists, prefix/,
    ],
    [['--forward', 'http://a.test', '--port', '1'], /cannot be used with/],
  ])('refuses %j', async (words, problem) => {
    const program = sandbox.cli(['listen', ...words])
    expect(await program.ended).toBe(2)
    expect(program.stderr()).toMatch(problem)
  })

  it('ends if the cursor has expired', async () => {
    const { url } = await opened()
    const words = ['--url', server.url, '--api-key', API_KEY, '--after', '1-0-0']
    const program = sandbox.cli(['listen', '--forward', url, ...words])
    expect(await program.ended).toBe(1)
    expect(program.stderr()).toMatch(/^cannot read the events: /)
  })
})
