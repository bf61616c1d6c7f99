import pg from 'pg'
import { startPostgresIn } from './shared.js'
import { until } from './until.js'

const RECOVERY_LIMIT_MS = 5_000

/** A PostgreSQL server for faults. */
export type Postgres = {
  readonly port: number
  query(sql: string): Promise<void>
  /** Returns true if the server answers within a few seconds. */
  answers(): Promise<boolean>
  /** Kills all its processes like a crash, without a flush. */
  kill(): Promise<void>
  start(): Promise<void>
  readonly pid: () => number
}

/** Starts PostgreSQL in this folder. */
export async function startPostgres(
  folder: string,
  settings: readonly string[],
): Promise<Postgres> {
  const { url, pid, start, kill } = await startPostgresIn(folder, settings)

  /** Connects without the link. */
  async function query(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    try {
      await client.query(sql)
    } finally {
      await client.end()
    }
  }

  const answers = (): Promise<boolean> =>
    until(
      () =>
        query('select 1').then(
          () => true,
          () => false,
        ),
      RECOVERY_LIMIT_MS,
    )

  return { port: Number(new URL(url).port), query, answers, start, kill, pid }
}
