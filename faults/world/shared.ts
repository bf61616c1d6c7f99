import { workspace } from './programs.js'

type PostgresServer = {
  readonly url: string
  readonly pid: () => number
  /** Ends every process of it at once, as a crash would: nothing is flushed, clients are cut. */
  kill(): Promise<void>
  start(): Promise<void>
}

const load = (file: string): Promise<unknown> => import(new URL(file, workspace).href)

// What tests and benchmarks have too, and is no package: it is loaded from where it lies.
export const { freePort } = (await load('scripts/free-port.mjs')) as {
  /** One that nobody listens on now. */
  freePort(): Promise<number>
}
export const { startPostgresIn } = (await load(
  'packages/adapter-postgres/test/postgres-server.mjs',
)) as {
  startPostgresIn(folder: string, settings: readonly string[]): Promise<PostgresServer>
}
