import { mkdirSync, rmdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../scripts/test-needs.js'
import { CLI, createSandbox, until, type Program, type Sandbox } from './sandbox.js'

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
  const text = await program.find(/^Agent Messaging is running[^]* listen --try.*\n/)
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
const rowsOf = async (server: Dev, route: string): Promise<unknown[]> =>
  ((await (await call(server, route)).json()) as { data: unknown[] }).data
const stateOfEcho = async (server: Dev): Promise<unknown> =>
  ((await (await call(server, '/v1/agents/echo')).json()) as { state?: string }).state

/** Runs a script of bash in a folder `disk` of this size. `$0 $1` is the command line. */
function onSmallDisk(kib: number, script: string): Program {
  const disk = `mkdir disk && mount -t tmpfs -o size=${kib}k tmpfs disk && cd disk`
  const words = ['-rm', 'bash', '-c', `${disk} && ${script}`, process.execPath, CLI]
  return sandbox.run('unshare', words, { PORT: '0' })
}

/** Runs the command that `dev` prints. */
const tryOut = ({ text }: Dev): Program =>
  sandbox.run('bash', ['-c', `exec ${/^ {2}(.* listen --try.*)$/m.exec(text)?.[1]}`])

describe('agent-messaging dev', () => {
  it('prints one command that shows a verified webhook, and leaves no webhook', async () => {
    const server = await dev()
    const program = tryOut(server)
    expect([await program.ended, program.stderr()]).toEqual([0, ''])
    expect(program.stdout()).toMatch(
      /^Registered the webhook http:\S+\nSent "Hello" to the agent echo. Its answer: Hello\n/,
    )
    const [, id = ''] =
      /message\.responded {2}delivery (\S+) {2}signature valid\n/.exec(program.stdout()) ?? []
    expect(program.stdout()).toMatch(
      new RegExp(`\nThe server shows delivery ${id} as delivered.\nDeleted the webhook.\n$`),
    )
    expect(await rowsOf(server, '/v1/webhooks')).toEqual([])
    expect(await rowsOf(server, '/v1/deliveries')).toEqual([
      expect.objectContaining({ id, status: 'delivered' }),
    ])
  })

  it('keeps no webhook of a command that is interrupted before the answer', async () => {
    const file = sandbox.write('agents.mjs', 'export default { echo: () => new Promise(() => {}) }')
    const server = await dev({ SERVICE_SHUTDOWN_GRACE_MS: '0' }, '--agents', file)
    const program = tryOut(server)
    await program.find(/Registered .*\n/)
    program.signal('SIGINT')
    expect([await program.ended, program.stderr()]).toEqual([null, ''])
    expect(await rowsOf(server, '/v1/webhooks')).toEqual([])
  })

  it('is named by a receiver that finds no server', async () => {
    const nowhere = sandbox.cli(['listen', '--try'], { PORT: '9' })
    expect([await nowhere.ended, nowhere.stderr()]).toEqual([
      2,
      expect.stringContaining('run this in the folder of `agent-messaging dev`'),
    ])
    await stop(await dev())
    const stopped = sandbox.cli(['listen', '--try'], { PORT: '9' })
    expect([await stopped.ended, stopped.stderr()]).toEqual([
      1,
      expect.stringMatching(/at http:\/\/127\.0\.0\.1:9: .*; start one with `agent-messaging dev`/),
    ])
  })

  it('prints a link that signs in to the console once', async () => {
    const server = await dev()
    const [, link = ''] = /signs you in once.*\n {2}(http:\S+)/.exec(server.text) ?? []
    const enter = () => fetch(link, { redirect: 'manual' })
    const entered = await enter()
    expect(entered.headers.get('location')).toBe('/console')
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? ''
    const page = await fetch(`${server.url}/console/webhooks`, { headers: { cookie } })
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

  it('leaves an agent of the file alone after it was stopped or deleted', async () => {
    const file = sandbox.write('agents.mjs', 'export default { calm: () => "", gone: () => "" }')
    const first = await dev({}, '--agents', file)
    expect((await call(first, '/v1/agents/calm/stop', 'POST')).ok).toBe(true)
    expect((await call(first, '/v1/agents/gone', 'DELETE')).ok).toBe(true)
    await stop(first)
    const second = await dev({}, '--agents', file)
    expect(await rowsOf(second, '/v1/agents')).toEqual([
      expect.objectContaining({ name: 'calm', state: 'stopped' }),
      expect.objectContaining({ name: 'echo' }),
    ])
  })

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

  it('leaves a stopped agent stopped, and names the command that starts it', async () => {
    const first = await dev()
    expect((await call(first, '/v1/agents/echo/stop', 'POST')).status).toBe(200)
    await stop(first)
    const second = await dev()
    expect(second.text).toContain('echo (stopped)')
    const program = tryOut(second)
    expect(await program.ended).toBe(1)
    expect(program.stderr()).toMatch(/Start it with agent-messaging agents start echo\n$/)
    expect(program.stdout()).toMatch(/Deleted the webhook.\n$/)
  })

  it('does not recreate a deleted agent, and names the command that creates it', async () => {
    const first = await dev()
    expect((await call(first, '/v1/agents/echo', 'DELETE')).status).toBe(204)
    await stop(first)
    const second = await dev()
    expect((await call(second, '/v1/agents/echo')).status).toBe(404)
    const program = tryOut(second)
    expect(await program.ended).toBe(1)
    const [, create = ''] = /agent-messaging (agents create .*)\n$/.exec(program.stderr()) ?? []
    expect(await sandbox.cli(create.split(' ')).ended).toBe(0)
    await until(async () => (await stateOfEcho(second)) === 'running')
  })

  it('creates no files when the environment contains all settings', async () => {
    const server = await dev({
      SERVICE_DATABASE_URL: `file:${path.join(sandbox.directory, 'own.db')}`,
      SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('hex'),
      SERVICE_BOOTSTRAP_API_KEY: `it's-a-key-with-a-quote`,
    })
    expect(server.key).toBe(`it's-a-key-with-a-quote`)
    expect(() => statSync(path.join(sandbox.directory, 'data'))).toThrow('ENOENT')
    expect(await tryOut(server).ended).toBe(0)
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
