import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
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
      /** Creates a database. Returns its file (`sqlite`), URL (`postgres`) or socket (`redis`). */
      database: async (kind) => {
        const database = await databases[kind]()
        endings.push(database.drop)
        return database.at
      },
    })
  } finally {
    for (const end of endings.toReversed()) await end()
  }
}

/** Returns the path of a file that several measurements share. */
export const scratchFile = (name) => path.join(folder, name)

async function sqliteFile() {
  const own = mkdtempSync(path.join(folder, 'sqlite-'))
  return {
    at: path.join(own, 'service.db'),
    drop: async () => rmSync(own, { recursive: true, force: true }),
  }
}

async function postgresDatabase() {
  const { url, admin } = await postgres()
  const name = `bench_${process.pid}_${made++}`
  await admin.query(`create database ${name}`)
  const drop = async () => void (await admin.query(`drop database ${name} with (force)`))
  return { at: Object.assign(new URL(url), { pathname: `/${name}` }).href, drop }
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

/** Removes all processes, databases and files at the end of the run or after an interrupt. */
export const cleanUp = () => (cleaned ??= clean())
let cleaned

async function clean() {
  await endAll()
  const server = await started?.catch(() => undefined)
  await server?.admin.end().catch(() => undefined)
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
}
