import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { startPostgres } from '../packages/adapter-postgres/test/postgres-server.mjs'
import { child, endAll, track } from './child.mjs'

const folder = mkdtempSync(path.join(tmpdir(), 'agent-messaging-bench-'))
let made = 0

/** Gives processes and databases to one measurement, and removes them after it. */
export async function inEnvironment(use) {
  if (cleaned) throw new Error('interrupted')
  const endings = []
  try {
    return await use({
      /** Starts a program of `processes/`. */
      start: async (program, options) => {
        const started = await child(program, options)
        endings.push(started.end)
        return started
      },
      /**
       * Creates a database, or a copy of `from`. Returns its file (`sqlite`), URL (`postgres`) or
       * socket (`redis`).
       */
      database: async (kind, from) => {
        const database = await databases[kind](from)
        endings.push(database.drop)
        return database.at
      },
    })
  } finally {
    for (const end of endings.toReversed()) await end()
  }
}

const stored = new Map()

/** Returns a database that `fill` filled. Several measurements can start from copies of it. */
export async function storedOnce(kind, name, fill) {
  const key = `${kind} ${name}`
  if (!stored.has(key)) {
    const database = await databases[kind]()
    await inEnvironment((environment) => fill(environment, database.at))
    if (kind === 'postgres') await settle(database.at)
    stored.set(key, database)
  }
  return stored.get(key).at
}

async function sqliteFile(from) {
  const own = mkdtempSync(path.join(folder, 'sqlite-'))
  const at = path.join(own, 'service.db')
  if (from !== undefined) {
    copyFileSync(from, at)
    const copy = openSync(at, 'r+')
    fsyncSync(copy)
    closeSync(copy)
  }
  return { at, drop: async () => rmSync(own, { recursive: true, force: true }) }
}

async function postgresDatabase(from) {
  const { url, admin } = await postgres()
  const name = `bench_${process.pid}_${made++}`
  // The default strategy would write the whole copy into the log.
  const copied = from && `template ${nameOf(from)} strategy file_copy`
  await admin.query(`create database ${name} ${copied ?? ''}`)
  const drop = async () => void (await admin.query(`drop database ${name} with (force)`))
  return { at: Object.assign(new URL(url), { pathname: `/${name}` }).href, drop }
}

const nameOf = (url) => new URL(url).pathname.slice(1)

/** Does what autovacuum would do during a measurement. */
async function settle(connectionString) {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query('vacuum (analyze)')
  await client.end()
}

/** Starts Redis with its usual flush every second. */
async function redisServer() {
  const own = mkdtempSync(path.join(folder, 'redis-'))
  const at = path.join(own, 'socket')
  const server = spawn(
    'redis-server',
    ['--port', '0', '--unixsocket', at, '--dir', own, '--save', '', '--appendonly', 'yes'],
    {
      stdio: 'ignore',
    },
  )
  const ended = track(server)
  await Promise.race([once(server, 'spawn'), ended])
  while (!existsSync(at)) {
    if (server.exitCode !== null) throw new Error(`redis-server ended with ${server.exitCode}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const drop = async () => {
    server.kill('SIGTERM')
    await ended
    rmSync(own, { recursive: true, force: true })
  }
  return { at, drop }
}

const databases = { sqlite: sqliteFile, postgres: postgresDatabase, redis: redisServer }

/** Returns the server at `TEST_DATABASE_URL`, or starts one with default settings. */
const postgres = () => (started ??= startServer())
let started

async function startServer() {
  const given = process.env.TEST_DATABASE_URL
  const server =
    given === undefined ? await startPostgres([]) : { url: given, stop: async () => undefined }
  const admin = new pg.Client({ connectionString: server.url })
  admin.on('error', () => undefined) // Ctrl-C ends the server first.
  await admin.connect()
  const { rows } = await admin.query('show server_version')
  return { ...server, admin, version: rows[0].server_version }
}

/** Returns the version of the PostgreSQL server, or undefined if no row needed one. */
export const postgresVersion = async () => (await started?.catch(() => undefined))?.version

/**
 * Returns the CPU time of the PostgreSQL server's processes in µs: 0 for SQLite, NaN without /proc
 * or for a server at `TEST_DATABASE_URL`.
 */
export async function databaseMicros(kind) {
  if (kind === 'sqlite') return 0
  const pid = (await postgres()).pid?.()
  if (pid === undefined || process.platform !== 'linux') return NaN
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return [pid, ...children].reduce((sum, one) => sum + microsOf(one), 0)
}

const MICROS_PER_TICK = 10_000

/** Returns the CPU time of a process and of its children that have ended. */
function microsOf(pid) {
  try {
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)
    // From user time (field 14) to the system time of children (17). The name is field 2.
    const ticks = afterName.split(' ').slice(11, 15).map(Number)
    return MICROS_PER_TICK * ticks.reduce((sum, one) => sum + one, 0)
  } catch {
    return 0 // The process has ended.
  }
}

/** Removes all processes, databases and files at the end of the run or after an interrupt. */
export const cleanUp = () => (cleaned ??= clean())
let cleaned

async function clean() {
  await endAll()
  const server = await started?.catch(() => undefined)
  for (const { drop } of stored.values()) await drop().catch(() => undefined)
  await server?.admin.end().catch(() => undefined)
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
}
