import pg from 'pg'
import { startPostgres } from './postgres-server.mjs'

export type TestPostgres = {
  /** The URL of a new, empty database. */
  database(): Promise<string>
  /** A pool on a new, empty database. */
  pool(options?: pg.PoolConfig): Promise<pg.Pool>
  close(): Promise<void>
}

/** The server at `TEST_DATABASE_URL`, or one of our own: no Docker, nothing to install. */
export async function testPostgres(): Promise<TestPostgres> {
  const given = process.env['TEST_DATABASE_URL']
  // What a crash of the machine would lose is not what these tests are about.
  const server =
    given === undefined
      ? await startPostgres(['fsync=off'])
      : { url: given, stop: async () => undefined }
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  const made: string[] = []

  async function database(): Promise<string> {
    const name = `test_${process.pid}_${Date.now()}_${made.length}`
    await admin.query(`create database ${name}`)
    made.push(name)
    return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
  }

  return {
    database,
    pool: async (options) => {
      const pool = new pg.Pool({ connectionString: await database(), ...options })
      // Its connections close behind its `end`, and may still be cut by the server's.
      return pool.on('error', () => undefined)
    },
    close: async () => {
      if (given !== undefined)
        for (const name of made) await admin.query(`drop database ${name} with (force)`)
      await admin.end()
      await server.stop()
    },
  }
}
