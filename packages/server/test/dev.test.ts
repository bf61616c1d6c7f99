import { mkdirSync, rmdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { needs } from '../../../scripts/test-needs.js'
import { CLI, createSandbox, type Program, type Sandbox } from './sandbox.js'

let sandbox: Sandbox
beforeEach(() => {
  sandbox = createSandbox()
})
afterEach(() => sandbox.dispose())

type Dev = {
  readonly program: Program
  readonly text: string
  readonly url: string
  readonly key: string
}

async function dev(env: Record<string, string> = {}, ...options: string[]): Promise<Dev> {
  const program = sandbox.cli(['dev', ...options], { PORT: '0', ...env })
  const text = await program.find(/^Agent Messaging is running[^]*deliveries[^]*\n\n/)
  const [, url = ''] = /API +(http:\S+)\/v1/.exec(text) ?? []
  const [, key = ''] = /API key +(\S+)/.exec(text) ?? []
  return { program, text, url, key }
}

async function stop({ program }: Dev): Promise<void> {
  program.signal('SIGTERM')
  expect(await program.ended).toBe(0)
}

const call = ({ url, key }: Dev, route: string, method = 'GET'): Promise<Response> =>
  fetch(url + route, { method, headers: { authorization: `Bearer ${key}` } })
const stateOfEcho = async (server: Dev): Promise<unknown> =>
  ((await (await call(server, '/v1/agents/echo')).json()) as { state?: string }).state

/** Runs a script of bash in a folder `disk` of this size. `$0 $1` is the command line. */
function onSmallDisk(kib: number, script: string): Program {
  const disk = `mkdir disk && mount -t tmpfs -o size=${kib}k tmpfs disk && cd disk`
  const words = ['-rm', 'bash', '-c', `${disk} && ${script}`, process.execPath, CLI]
  return sandbox.run('unshare', words, { PORT: '0' })
}

/** The printed commands, including their continuation lines. */
const commandsIn = (text: string): string[] => text.match(/^(?:curl|node) (?:.*\\\n)*.*$/gm) ?? []

describe('agent-messaging dev', () => {
  it('needs one more command for a verified webhook, which registers its receiver once', async () => {
    const server = await dev()
    const port = String(await freePort())
    const tryOut = async (): Promise<Program> => {
      const env = { PORT: new URL(server.url).port }
      const receiver = sandbox.cli(['listen', '--port', port, '--try'], env)
      expect(await receiver.find(/message\.responded .*\n/)).toContain('signature valid')
      await receiver.find(/sent Hello to the agent echo/)
      return receiver
    }
    const first = await tryOut()
    first.signal('SIGTERM')
    await first.ended
    await tryOut()
    const { data } = (await (await call(server, '/v1/webhooks')).json()) as { data: unknown[] }
    expect(data).toHaveLength(1)
    await stop(server)
  })

  it('is named by a receiver that finds no server of this folder', async () => {
    const receiver = sandbox.cli(['listen', '--port', '0', '--try'])
    expect(await receiver.ended).toBe(2)
    expect(receiver.stderr()).toContain('start `agent-messaging dev` in this folder first')
  })

  it('prints commands that work: a receiver, a webhook, a message, its delivery', async () => {
    const server = await dev()
    const port = String(await freePort())
    const commands = commandsIn(server.text).map((command) =>
      command.replace(':4000/', `:${port}/`),
    )
    const [listen = '', register = '', send = '', deliveries = '', ...others] = commands
    expect(others).toEqual([])

    const receiver = sandbox.run('bash', ['-c', `exec ${listen} --port ${port}`])
    await receiver.find(/Listening .*\n/)
    const bash = async (command: string): Promise<unknown> => {
      const curl = sandbox.run('bash', ['-c', command])
      expect(await curl.ended).toBe(0)
      return JSON.parse(curl.stdout())
    }
    expect(await bash(register)).toMatchObject({
      url: `http://127.0.0.1:${port}/`,
      events: ['*'],
      enabled: true,
    })
    expect(await bash(send)).toEqual({
      messageId: expect.any(String),
      status: 'responded',
      response: 'Hello',
    })
    const received = await receiver.find(/message\.responded .*\n/)
    expect(received).toContain('signature valid')
    const { data } = (await bash(deliveries)) as { data: { id: string }[] }
    expect(data).toEqual([expect.objectContaining({ event: 'message.responded' })])
    expect(received).toContain(`delivery ${data[0]?.id} `)
    const show = sandbox.cli(['deliveries', 'show', String(data[0]?.id)])
    await show.ended
    expect(show.stdout()).toMatch(
      /^ATTEMPT +STARTED AT +TOOK +OUTCOME +STATUS +DETAIL\n1 +\S+ +\d+ ms +accepted +200/m,
    )
    const second = sandbox.cli(['listen', '--port', port])
    expect([await second.ended, second.stderr()]).toEqual([
      1,
      `port ${port} is in use; choose another with --port\n`,
    ])
  })

  it('prints a link that signs in to the console once', async () => {
    const server = await dev()
    const [, link = ''] = /signs you in once[^]*\n(http:\S+)/.exec(server.text) ?? []
    const enter = () => fetch(link, { redirect: 'manual' })
    const entered = await enter()
    expect(entered.headers.get('location')).toBe('/console')
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? ''
    const page = await fetch(`${server.url}/console`, { headers: { cookie } })
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Catcher')])
    expect((await enter()).status).toBe(401)
    expect((await fetch(server.url, { redirect: 'manual' })).headers.get('location')).toBe(
      '/console',
    )
  })

  it('serves no console when the console is off', async () => {
    const server = await dev({ SERVICE_CONSOLE: 'off' })
    expect(server.text).not.toMatch(/console|signs you in/i)
    for (const path of ['/', '/console']) expect((await fetch(server.url + path)).status).toBe(404)
  })

  it('reuses all files at the second start', async () => {
    const first = await dev()
    await stop(first)
    const second = await dev()
    expect(second.key).toBe(first.key)
    const constant = ({ text, url }: Dev): string =>
      text.replaceAll(url, '').replace(/code=\S+/, '')
    expect(constant(second)).toBe(constant(first))
    const agents = (await (await call(second, '/v1/agents')).json()) as { data: { name: string }[] }
    expect(agents.data.map(({ name }) => name)).toEqual(['echo'])
  })

  it('creates an agent per exported function, and shows an agent without its function as failed', async () => {
    const agents = [
      '--agents',
      sandbox.write(
        'agents.mjs',
        'export default { shout: ({ message }) => message.toUpperCase() }',
      ),
    ]
    const first = await dev({}, ...agents)
    expect(first.text).toContain('shout (running)')
    await stop(first)
    const without = await dev()
    expect(without.text).toContain('shout (error: this process has no handler "shout")')
    await stop(without)
    expect((await dev({}, ...agents)).text).toContain('shout (running)')
  })

  it.each(['stop', 'delete'])(
    'leaves an agent of the file alone after agents %s',
    async (action) => {
      const file = sandbox.write('agents.mjs', 'export default { shout: () => "HI" }')
      const first = await dev({}, '--agents', file)
      const answered = await call(
        first,
        action === 'stop' ? '/v1/agents/shout/stop' : '/v1/agents/shout',
        action === 'stop' ? 'POST' : 'DELETE',
      )
      expect(answered.ok).toBe(true)
      await stop(first)
      const second = await dev({}, '--agents', file)
      const { data } = (await (await call(second, '/v1/agents')).json()) as {
        data: { name: string; state: string }[]
      }
      expect(data.filter(({ name }) => name === 'shout').map(({ state }) => state)).toEqual(
        action === 'stop' ? ['stopped'] : [],
      )
    },
  )

  it('refuses a function whose key is no legal agent name, and suggests one', async () => {
    const file = sandbox.write('agents.mjs', 'export default { mySupport: () => "HI" }')
    const program = sandbox.cli(['dev', '--agents', file], { PORT: '0' })
    expect(await program.ended).toBe(2)
    expect(program.stderr()).toContain('"mySupport" is not a legal agent name; use "my-support"')
  })

  it('stores secrets in files that only their owner can read', async () => {
    await dev()
    const modeOf = (name: string): number =>
      statSync(path.join(sandbox.directory, name)).mode & 0o777
    expect(modeOf('data')).toBe(0o700)
    for (const name of ['master-key', 'api-key', 'webhook-secret'])
      expect(modeOf(`data/${name}`), name).toBe(0o600)
  })

  it('leaves a stopped agent stopped and prints the command that starts it', async () => {
    const first = await dev()
    expect((await call(first, '/v1/agents/echo/stop', 'POST')).status).toBe(200)
    await stop(first)
    const second = await dev()
    expect(await stateOfEcho(second)).toBe('stopped')
    const [, , start = ''] = commandsIn(second.text)
    expect(await sandbox.run('bash', ['-c', start]).ended).toBe(0)
    expect(await stateOfEcho(second)).toBe('running')
  })

  it('does not recreate a deleted agent but prints the command that creates it', async () => {
    const first = await dev()
    expect((await call(first, '/v1/agents/echo', 'DELETE')).status).toBe(204)
    await stop(first)
    const second = await dev()
    expect((await call(second, '/v1/agents/echo')).status).toBe(404)
    const [, , create = ''] = commandsIn(second.text)
    expect(await sandbox.run('bash', ['-c', create]).ended).toBe(0)
    expect(await stateOfEcho(second)).toBe('running')
  })

  it('creates no files when the environment contains all settings', async () => {
    const server = await dev({
      SERVICE_DATABASE_URL: `file:${path.join(sandbox.directory, 'own.db')}`,
      SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('hex'),
      SERVICE_BOOTSTRAP_API_KEY: `it's-a-key-with-a-quote`,
    })
    expect(server.key).toBe(`it's-a-key-with-a-quote`)
    expect(() => statSync(path.join(sandbox.directory, 'data'))).toThrow('ENOENT')
    const [, , send = ''] = commandsIn(server.text)
    const curl = sandbox.run('bash', ['-c', send])
    await curl.ended
    expect(JSON.parse(curl.stdout())).toMatchObject({ status: 'responded' })
  })

  it('reads .env with a byte order mark and Windows line breaks', async () => {
    sandbox.write('.env', '\uFEFFSERVICE_BOOTSTRAP_API_KEY=a-key-from-the-env-file\r\n')
    expect((await dev()).key).toBe('a-key-from-the-env-file')
  })

  it('fails with one line when the master key is lost', async () => {
    await stop(await dev())
    rmSync(path.join(sandbox.directory, 'data', 'master-key'))
    const second = sandbox.cli(['dev'], { PORT: '0' })
    expect(await second.ended).toBe(2)
    expect(second.stderr()).toMatch(
      /^data\/master-key is missing, but data\/agent-messaging.db needs it; .*\n$/,
    )
  })

  it('fails with one line when .env or data/ is unusable', async () => {
    const failed = async (): Promise<[number | null, string]> => {
      const program = sandbox.cli(['dev'], { PORT: '0' })
      return [await program.ended, program.stderr()]
    }
    mkdirSync(path.join(sandbox.directory, '.env'))
    expect(await failed()).toEqual([
      2,
      'cannot read .env: EISDIR: illegal operation on a directory, read\n',
    ])
    rmdirSync(path.join(sandbox.directory, '.env'))
    sandbox.write('data', '')
    expect(await failed()).toEqual([1, "EEXIST: file already exists, mkdir 'data'\n"])
  })

  it('fails with one line when its port is in use', async () => {
    const { port } = new URL((await dev()).url)
    const second = sandbox.cli(['dev', '--port', port], { PORT: '0' })
    expect([await second.ended, second.stderr()]).toEqual([
      1,
      `port ${port} on 127.0.0.1 is in use; choose another with --port or PORT (0 picks a free port)\n`,
    ])
  })

  it.each([
    ['its keys', 4],
    ['the log of its database', 24],
    ['its tables', 100],
  ])(
    'fails with one line when the disk is full, without room for %s',
    needs('mounts'),
    async (_, kib) => {
      const program = onSmallDisk(kib, 'exec "$0" "$1" dev')
      expect(await program.ended).toBe(1)
      expect(program.stderr()).toMatch(
        /^the disk of \S+\/disk\/data is full; free some space on it\.\n$/,
      )
    },
  )

  it('leaves no half of a file on a full disk', needs('mounts'), async () => {
    const program = onSmallDisk(4, 'head -c 4096 /dev/zero > full; "$0" "$1" dev; ls -A')
    await program.ended
    expect(program.stderr()).toMatch(/^the disk of \S+\/disk\/data is full; .*\n$/)
    expect(program.stdout()).toBe('full\n')
  })

  it('warns about an unknown setting', async () => {
    const { program } = await dev({ SERVICE_LOG_LEVL: 'debug' })
    expect(program.stderr()).toBe(
      'SERVICE_LOG_LEVL is ignored: there is no such setting. Did you mean SERVICE_LOG_LEVEL?\n',
    )
  })
})
