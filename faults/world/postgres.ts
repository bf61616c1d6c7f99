import pg from 'pg'
import { startPostgresIn } from './shared.js'
import { until } from './until.js'

const RECOVERY_LIMIT_MS = 5_000

/** A PostgreSQL of our own, to be ill-treated. */
export type Postgres = {
  readonly port: number
  query(sql: string): Promise<void>
  /** Whether it lives, within a few seconds. */
  answers(): Promise<boolean>
  /** Ends every process of it at once, as a crash would: nothing is flushed, clients are cut. */
  stopAtOnce(): Promise<void>
  start(): Promise<void>
  readonly pid: () => number
}

/** In this folder, or with `data` of it on a disk of its own. */
export async function startPostgres(
  folder: string,
  settings: readonly string[],
): Promise<Postgres> {
  const { url, pid, start, kill } = await startPostgresIn(folder, settings)

  /** Past any link. */
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

  return { port: Number(new URL(url).port), query, answers, start, stopAtOnce: kill, pid }
}
