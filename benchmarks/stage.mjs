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

/** One measurement's processes, databases and files: all of them end with `use`. */
export async function onStage(use) {
  if (cleared) throw new Error('interrupted')
  const endings = []
  try {
    return await use({
      /** A program of `processes/`, with these options. */
      start: async (program, options) => {
        const started = await child(program, options)
        endings.push(started.end)
        return started
      },
      /** A new one on `sqlite`, which is a file, `postgres`, which is a URL, or `redis`, which is a socket. */
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

/** A place for what several measurements use. */
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

/** On disk each second, as Redis is mostly run. */
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

/** The server at `TEST_DATABASE_URL`, or one of our own with the settings that it comes with: every commit is fsynced. Started once. */
const postgres = () => (started ??= startServer())
let started

async function startServer() {
  const given = process.env.TEST_DATABASE_URL
  const server =
    given === undefined ? await startPostgres([]) : { url: given, stop: async () => undefined }
  const admin = new pg.Client({ connectionString: server.url })
  admin.on('error', () => undefined) // Ctrl-C ends the server before us
  await admin.connect()
  const { rows } = await admin.query('show server_version')
  return { ...server, admin, version: rows[0].server_version }
}

/** Of the PostgreSQL that was measured on; undefined when none was. */
export const postgresVersion = async () => (await started?.catch(() => undefined))?.version

/** Ends whatever is left, at the end of the run or when it is interrupted. */
export const clearStage = () => (cleared ??= clear())
let cleared

async function clear() {
  await endAll()
  const server = await started?.catch(() => undefined)
  await server?.admin.end().catch(() => undefined)
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
}
