import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

export type TestPostgres = {
  /** The URL of a new, empty database. */
  database(): Promise<string>
  /** A pool on a new, empty database. */
  pool(options?: pg.PoolConfig): Promise<pg.Pool>
  close(): Promise<void>
}

/** Uses the server at `TEST_DATABASE_URL`, or the one of this run. */
export async function testPostgres(): Promise<TestPostgres> {
  const given = process.env['TEST_DATABASE_URL']
  const url = given ?? (await serverOfRun())
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  const made: string[] = []

  async function database(): Promise<string> {
    const name = `test_${randomUUID().replaceAll('-', '')}`
    await admin.query(`create database ${name}`)
    made.push(name)
    return Object.assign(new URL(url), { pathname: `/${name}` }).href
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
    },
  }
}

async function serverOfRun(): Promise<string> {
  const response = await fetch(inject('postgresOfRun'))
  const text = await response.text()
  if (!response.ok) throw new Error(`PostgreSQL did not start: ${text}`)
  return text
}
