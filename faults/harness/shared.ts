import { workspace } from './programs.js'

type PostgresServer = {
  readonly url: string
  readonly pid: () => number
  /** Kills all its processes like a crash, without a flush. */
  kill(): Promise<void>
  start(): Promise<void>
}

const load = (file: string): Promise<unknown> => import(new URL(file, workspace).href)

// Modules that tests and benchmarks share. They belong to no package.
export const { freePort } = (await load('scripts/free-port.mjs')) as {
  /** Returns a port without a listener. */
  freePort(): Promise<number>
}
export const { startPostgresIn } = (await load(
  'packages/adapter-postgres/test/postgres-server.mjs',
)) as {
  startPostgresIn(folder: string, settings: readonly string[]): Promise<PostgresServer>
}
