import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { ONE_SESSION, sendFromFourSessions } from './one-session.js'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'
import { surviveKills } from './survive-kills.js'

let postgres: TestPostgres
let folder: string
const opened: { dispose(): Promise<void> }[] = []
beforeAll(async () => {
  postgres = await testPostgres()
  folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-agents-'))
})
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.dispose()
})
afterAll(async () => {
  await postgres.close()
  await rm(folder, { recursive: true })
})

/** Counts its runs in memory. */
const COUNTER = `
  import { createInterface } from 'node:readline'
  let runs = 0
  const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n')
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { type, id } = JSON.parse(line)
    const response = () => JSON.stringify({ pid: process.pid, parent: process.ppid, runs: ++runs })
    if (type === 'run') say({ type: 'answer', id, response: response() })
  })
  say({ type: 'ready', protocol: 1 })`

const SHORT_LEASES = {
  SERVICE_DELIVERY_TIMEOUT_MS: '500',
  SERVICE_DELIVERY_LEASE_MS: '1000',
}
type Page = { readonly data: readonly { readonly message: string; readonly status: string }[] }

/** Starts two processes on one new database, with the agent `worker` from `source`. */
async function twoServers(
  source: string,
  argsOfOther: readonly string[] = [],
  runLeaseMs = 1_000,
): Promise<[RealServer, RealServer]> {
  const agentsFile = path.join(folder, `${opened.length}-${Date.now()}.mjs`)
  await writeFile(agentsFile, source)
  const env = {
    ...SHORT_LEASES,
    SERVICE_RUN_LEASE_MS: `${runLeaseMs}`,
    SERVICE_DATABASE_URL: await postgres.database(),
  }
  const one = await realServer({ env, args: ['--agents', agentsFile] })
  opened.push(one)
  const other = await realServer({ env, args: ['--agents', agentsFile, ...argsOfOther] })
  opened.push(other)
  const agent = {
    name: 'worker',
    runtime: { kind: 'function', handler: 'work' },
    desiredState: 'running',
  }
  expect((await one.api('POST', '/v1/agents', agent)).status).toBe(201)
  return [one, other]
}

const send = (
  server: RealServer,
  sessionId: string,
  message: string,
  headers = {},
): Promise<Response> =>
  server.api('POST', '/v1/agents/worker/messages', { sessionId, message }, headers)

describe('two processes on one PostgreSQL', { timeout: 60_000 }, () => {
  it('G2: create one message for 100 sends with one key, and all get its answer', async () => {
    const servers = await twoServers("export default { work: ({ message }) => 're: ' + message }")
    const sends = Array.from({ length: 100 }, (_, n) =>
      send(servers[n % 2 ? 0 : 1], 's', 'once', { 'idempotency-key': 'the-key' }),
    )
    const answers = await Promise.all(
      (await Promise.all(sends)).map(async (response) => [response.status, await response.json()]),
    )
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toMatchObject([200, { status: 'responded', response: 're: once' }])
    const { data } = (await (
      await servers[1].api('GET', '/v1/agents/worker/messages')
    ).json()) as Page
    expect(data).toMatchObject([{ attempt: 1 }])
  })

  it('G2: create one message for 100 sends with one key in four sessions', async () => {
    const servers = await twoServers("export default { work: ({ message }) => 're: ' + message }")
    expect(await sendFromFourSessions(servers, 'worker')).toEqual(ONE_SESSION)
  })

  it('answer a caller of one process with the run of the other', async () => {
    const [one, other] = await twoServers('export default { work: () => String(process.pid) }', [
      '--no-worker',
    ])
    const [here, there] = await Promise.all(
      [send(one, 'a', 'hi'), send(other, 'b', 'hi')].map(async (sent) => (await sent).json()),
    )
    expect(there).toMatchObject({
      status: 'responded',
      response: (here as { response: string }).response,
    })
  })

  it('G5: run the messages of a session one at a time and in order', async () => {
    const log = path.join(folder, 'order.log')
    const servers = await twoServers(`
      import { appendFileSync } from 'node:fs'
      export default { work: async ({ message }) => {
        appendFileSync(${JSON.stringify(log)}, 'begin ' + message + '\\n')
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
        appendFileSync(${JSON.stringify(log)}, 'end ' + message + '\\n')
        return String(process.pid)
      } }`)
    const sends = Array.from({ length: 40 }, (_, n) =>
      send(servers[n % 2 ? 0 : 1], 'one session', `${n}`),
    )
    for (const { status } of await Promise.all(sends)) expect(status).toBe(200)
    const listed = await servers[0].api(
      'GET',
      '/v1/agents/worker/messages?sessionId=one%20session&order=asc&limit=100',
    )
    const inOrder = ((await listed.json()) as Page).data.map(({ message }) => message)
    expect(readFileSync(log, 'utf8').trim().split('\n')).toEqual(
      inOrder.flatMap((message) => [`begin ${message}`, `end ${message}`]),
    )
  })

  it('G1, G3: take over the run and the delivery of a killed process', async () => {
    const begun = path.join(folder, 'begun')
    const release = path.join(folder, 'release')
    const [one, other] = await twoServers(`
      import { appendFileSync, existsSync } from 'node:fs'
      export default { work: async ({ attempt }) => {
        appendFileSync(${JSON.stringify(begun)}, process.pid + '\\n')
        while (!existsSync(${JSON.stringify(release)})) await new Promise((resolve) => setTimeout(resolve, 10))
        return String(process.pid)
      } }`)
    const hook = await receiver()
    opened.push({ dispose: hook.close })
    expect(
      (await other.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] }))
        .status,
    ).toBe(201)
    const lost = send(one, 's', 'hi').catch(() => undefined)
    const begunBy = (): string[] =>
      existsSync(begun) ? readFileSync(begun, 'utf8').trim().split('\n') : []
    expect(await until(() => begunBy().length === 1)).toBe(true)
    await one.kill('SIGKILL')
    await lost
    expect(await until(() => begunBy().length === 2)).toBe(true)
    await writeFile(release, '')
    expect(await until(() => hook.received.length === 1)).toBe(true)
    const { data } = (await (await other.api('GET', '/v1/agents/worker/messages')).json()) as Page
    expect(data).toMatchObject([{ status: 'responded', response: begunBy()[1], attempt: 2 }])
  })

  it('G5: do not repeat a run that blocks the event loop for three leases', async () => {
    const log = path.join(folder, 'blocked.log')
    const [one, other] = await twoServers(`
      import { appendFileSync } from 'node:fs'
      export default { work: () => {
        appendFileSync(${JSON.stringify(log)}, 'begun\\n')
        for (const end = Date.now() + 3_000; Date.now() < end;);
        return 'done'
      } }`)
    void send(one, 's', 'hi').catch(() => undefined)
    const list = async () =>
      (await (await other.api('GET', '/v1/agents/worker/messages')).json()) as Page
    expect(await until(async () => (await list()).data[0]?.status === 'responded')).toBe(true)
    expect((await list()).data).toMatchObject([{ attempt: 1, response: 'done' }])
    expect(readFileSync(log, 'utf8')).toBe('begun\n')
  })

  it('share one child process per agent, and replace it after its server is killed', async () => {
    const program = path.join(folder, 'counter.mjs')
    await writeFile(program, COUNTER)
    const entry = { command: process.execPath, args: [program] }
    const servers = await twoServers(
      `export default { work: () => '' }\nexport const programs = { counter: ${JSON.stringify(entry)} }`,
      [],
      5_000, // a busy machine must not lose the child process
    )
    const [one, other] = servers
    await one.api('POST', '/v1/agents', {
      name: 'counter',
      runtime: { kind: 'process', program: 'counter' },
      desiredState: 'running',
    })
    const ask = async (
      server: RealServer,
      sessionId: string,
    ): Promise<{ pid: number; parent: number; runs: number }> => {
      const sent = await server.api(
        'POST',
        '/v1/agents/counter/messages',
        { sessionId, message: 'hi' },
        { prefer: 'wait=10' },
      )
      return JSON.parse(((await sent.json()) as { response: string }).response)
    }
    await until(
      async () =>
        ((await (await one.api('GET', '/v1/agents/counter')).json()) as { state: string }).state ===
        'running',
    )
    const first = await ask(one, 'a')
    for (let n = 2; n <= 10; n++)
      expect(await ask(servers[n % 2 ? 0 : 1], n % 3 ? 'a' : 'b')).toEqual({ ...first, runs: n })
    const [owner, survivor] = first.parent === one.pid() ? [one, other] : [other, one]
    await owner.kill('SIGKILL')
    const next = await ask(survivor, 'a')
    expect(next).toEqual({ pid: expect.any(Number), parent: survivor.pid(), runs: 1 })
  })

  it('lose nothing over 4 kills at random moments under load (G1-G5)', async () => {
    const env = { SERVICE_DATABASE_URL: await postgres.database() }
    expect(await surviveKills({ kills: 4, processes: 2, env })).toEqual([])
  })
})
