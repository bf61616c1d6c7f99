import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { commandLine, ENV, SLOWLY } from './command-line.js'
import { until, createSandbox, type Program, type Sandbox } from './sandbox.js'

const KEY = 'a-key-of-twenty-characters'
const AGENTS = `export default {
  who: ({ executionPrincipal, sessionId, metadata }) => JSON.stringify({ executionPrincipal, sessionId, metadata }),
  given: ({ parts, responseSchema }) => JSON.stringify({ parts, responseSchema }),
  fail: () => { throw new Error('out of order') },
  count: async function* () { yield 'one '; yield 'two' },
  slow: () => new Promise(() => undefined),
}`

type Server = { readonly program: Program; readonly env: Record<string, string> }

async function startIn(sandbox: Sandbox): Promise<Server> {
  const file = sandbox.write('agents.mjs', AGENTS)
  const program = sandbox.cli(['start', '--agents', file], {
    ...ENV,
    PORT: '0',
    SERVICE_BOOTSTRAP_API_KEY: KEY,
    SERVICE_IDEMPOTENCY_MISMATCH: 'reject',
    SERVICE_SHUTDOWN_GRACE_MS: '100',
  })
  const { url } = JSON.parse(await program.find(/^.*"msg":"listening"}$/m)) as { url: string }
  const env = { ...ENV, SERVICE_PUBLIC_URL: url, SERVICE_BOOTSTRAP_API_KEY: KEY }
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  for (const handler of ['echo', 'who', 'given', 'fail', 'count', 'slow']) {
    const body = JSON.stringify({
      name: handler,
      runtime: { kind: 'function', handler },
      desiredState: 'running',
    })
    expect((await fetch(`${url}/v1/agents`, { method: 'POST', headers, body })).status).toBe(201)
  }
  return { program, env }
}

let sandbox: Sandbox
let env: Record<string, string>
beforeAll(async () => {
  sandbox = createSandbox()
  env = (await startIn(sandbox)).env
})
afterAll(() => sandbox.dispose())
const { cli, json } = commandLine(() => sandbox)

describe('send', SLOWLY, () => {
  it('prints the answer', async () => {
    expect(await cli('send echo Hello', env)).toEqual({ code: 0, stdout: 'Hello\n', stderr: '' })
    const whole = await cli('send echo Hello --json', env)
    expect(JSON.parse(whole.stdout)).toMatchObject({
      state: 'responded',
      response: 'Hello',
      sessionId: expect.stringMatching(/^cli-/),
    })
  })

  it('sends parts and the schema of the answer', async () => {
    const data = { type: 'data', name: 'order', data: { total: 7 } }
    const file = { type: 'file', url: 'https://files.example/a.png', mediaType: 'image/png' }
    const schema = { type: 'object', required: ['parts'] }
    const [one, two, three] = [data, file, schema].map((value, at) =>
      sandbox.write(`given-${at}.json`, JSON.stringify(value)),
    )
    const sent = `send given Hello --part ${one} --part ${two} --response-schema ${three}`
    const { stdout } = await cli(sent, env)
    expect(JSON.parse(stdout)).toEqual({ parts: [data, file], responseSchema: schema })
    const { code, stderr } = await cli(`send echo Hello --response-schema ${three}`, env)
    expect([code, stderr]).toEqual([1, expect.stringContaining('RESPONSE_INVALID')])
  })

  it('sends the given principal, session and metadata', async () => {
    const metadata = sandbox.write('metadata.json', '{"channel":"x"}')
    const { stdout } = await cli(
      `send who Hello --session s1 --end-user u1 --metadata ${metadata}`,
      env,
    )
    expect(JSON.parse(stdout)).toEqual({
      executionPrincipal: { type: 'end_user', endUserId: 'u1' },
      sessionId: 's1',
      metadata: { channel: 'x' },
    })
  })

  it('streams the answer', async () => {
    expect(await cli('send count Go --stream', env)).toEqual({
      code: 0,
      stdout: 'one two\n',
      stderr: '',
    })
    expect(await cli('send echo Go --stream', env)).toEqual({ code: 0, stdout: 'Go\n', stderr: '' })
    const events = (await cli('send count Go --stream --json', env)).stdout.trim().split('\n')
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({
      event: 'message',
      message: { response: 'one two' },
    })
  })

  it('waits no longer than --wait', async () => {
    expect((await cli('send slow Hello --wait 0', env)).stdout).toMatch(
      /^Accepted message \S+\. The agent has not answered yet\.\n$/,
    )
    expect(JSON.parse((await cli('send slow Hello --wait 0 --json', env)).stdout)).toEqual({
      messageId: expect.any(String),
      status: 'pending',
    })
  })

  it('creates one message when it is repeated with its idempotency key', async () => {
    const ids = []
    for (const _ of ['first', 'again'])
      ids.push(
        JSON.parse((await cli('send echo Hello --idempotency-key k --json', env)).stdout).messageId,
      )
    expect(ids[1]).toBe(ids[0])
  })

  it.each(['', ' --stream'])(
    'reports the accepted message when the server stops during the wait%s',
    async (option) => {
      const another = createSandbox()
      onTestFinished(another.dispose)
      const server = await startIn(another)
      const sending = cli(`send slow Hello${option}`, server.env)
      const asked = () =>
        fetch(`${server.env['SERVICE_PUBLIC_URL']}/v1/agents/slow/messages`, {
          headers: { authorization: `Bearer ${KEY}` },
        })
      await until(
        async () => ((await (await asked()).json()) as { data: unknown[] }).data.length > 0,
      )
      server.program.signal('SIGTERM')
      const said =
        /^message \S+ has no answer yet, and the connection is lost; the agent continues, and webhooks receive the result\n$/
      expect(await sending).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(said) })
    },
  )

  it.each(['', ' --stream'])(
    'reports the accepted message when a proxy answers for a stopped server%s',
    async (option) => {
      const proxy = createServer((request, response) => {
        if (request.method === 'POST')
          response.writeHead(202).end('{"messageId":"m-1","status":"pending"}')
        else response.writeHead(502).end('<html>bad gateway')
      }).listen(0, '127.0.0.1')
      await once(proxy, 'listening')
      const { port } = proxy.address() as AddressInfo
      const sending = cli(`send slow Hello${option}`, {
        ...env,
        SERVICE_PUBLIC_URL: `http://127.0.0.1:${port}`,
      })
      const said =
        'message m-1 has no answer yet, and the connection is lost; the agent continues, and webhooks receive the result\n'
      expect(await sending).toEqual({ code: 1, stdout: '', stderr: said })
      proxy.close()
    },
  )

  it('exits with a one-line error', async () => {
    const says = async (line: string, said: RegExp, also = {}) =>
      expect(await cli(line, { ...env, ...also })).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(said),
      })
    await says('send fail Hello', /^message \S+ is failed: .*out of order.* \(\w+\)\n$/)
    await says('send fail Hello --stream', /^message \S+ is failed: /)
    await says('send nobody Hello', /^the server rejected the message: .+\n$/)
    await says(
      `send echo Hello --session ${'s'.repeat(257)}`,
      /^the server rejected the message: sessionId must [^;]+\n$/,
    )
    await says('send echo Hello', /^the server rejected the message: .+; see --api-key\n$/, {
      SERVICE_BOOTSTRAP_API_KEY: `${KEY}x`,
    })
    await says(
      'send echo Hello --url http://127.0.0.1:9',
      /^no server responds at http:\/\/127\.0\.0\.1:9; start one with `agent-messaging dev`/,
    )
    await says('send echo Hello', /^no server responds at http:\/\/\[::1\]:9; /, {
      SERVICE_PUBLIC_URL: '',
      HOST: '::',
      PORT: '9',
    })
    const nowhere = await cli('send echo Hello --url 127.0.0.1:9', env)
    expect([nowhere.code, nowhere.stderr]).toEqual([
      2,
      expect.stringContaining('Expected a URL such as http://127.0.0.1:3000.'),
    ])
    expect((await cli('send echo Hello --stream --wait 1', env)).code).toBe(2)
    // The shell passes an empty option for an unset variable.
    expect((await cli('send echo Hello --api-key ', env)).stdout).toBe('Hello\n')
    expect(await cli('send echo Hello --api-key ')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^an API key is required; .* use --api-key\n$/),
    })
    expect((await cli('send echo Hello --end-user u --service', env)).code).toBe(2)
    expect((await cli('send echo Hello', {})).stderr).toMatch(
      /^an API key is required; .* use --api-key\n$/,
    )
  })

  it('names the command that shows the error of an agent', async () => {
    const others = sandbox.write('others.mjs', 'export default { other: () => "" }')
    await cli(`agents create other --handler other --agents ${others}`, env)
    await until(async () => (await json('agents show other', env))['state'] === 'error')
    expect((await cli('send other Hello', env)).stderr).toBe(
      'the server rejected the message: The agent is not running: its state is error. agent-messaging agents show other shows the reason\n',
    )
  })

  it('can be undone by erasing the session', async () => {
    await cli('send echo Hello --session s1', env)
    expect((await cli('erase session echo s1', env)).stdout).toBe(
      'Erased session s1 of agent echo.\n',
    )
  })
  it('can be undone by erasing the end user while the server runs', async () => {
    for (const line of [
      'echo Hello --end-user u',
      'fail Hello --end-user u',
      'echo Hello --end-user v',
      'slow Hello --end-user u --wait 0',
    ]) {
      await cli(`send ${line}`, env)
    }
    const found = { endUserId: 'u', messages: 2, openMessages: 1, deliveries: 0, events: 3 }
    expect(await json('erase principal u --dry-run', env)).toEqual({ ...found, dryRun: true })
    expect((await cli('erase principal u --dry-run', env)).stdout).toBe(
      'Would erase 2 messages and 0 deliveries of u. 1 more message is not final; use --force to erase it too.\n',
    )
    expect(await cli('erase principal u', env)).toEqual({
      code: 1,
      stdout: 'Erased 2 messages and 0 deliveries of u.\n',
      stderr: '1 more message is not final and was kept; repeat this later, or use --force\n',
    })
    expect(await json('erase principal u --force', env)).toEqual({
      ...found,
      messages: 1,
      openMessages: 0,
      events: expect.any(Number),
      dryRun: false,
    })
    expect(await json('erase principal v --dry-run', env)).toMatchObject({ messages: 1 })
  })
})
