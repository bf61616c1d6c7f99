import pg from 'pg'
import { startPostgres } from './postgres-server.mjs'

export type TestPostgres = {
  /** The URL of a new, empty database. */
  database(): Promise<string>
  /** A pool on a new, empty database. */
  pool(options?: pg.PoolConfig): Promise<pg.Pool>
  close(): Promise<void>
}

/** Uses the server at `TEST_DATABASE_URL`, or starts one. */
export async function testPostgres(): Promise<TestPostgres> {
  const given = process.env['TEST_DATABASE_URL']
  // These tests do not crash the machine.
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
      // After `end` a connection can still be cut when the server stops.
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
