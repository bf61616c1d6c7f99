import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { startPostgres, type PostgresServer } from './postgres-server.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers with the URL of the PostgreSQL server of this run. The first request starts it. */
    postgresOfRun: string
  }
}

/**
 * Offers one PostgreSQL to all files of a run, and returns its end. A run without tests on
 * PostgreSQL does not start it.
 */
export async function sharedPostgres(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined
  // These tests do not crash the machine. Autovacuum would visit hundreds of short-lived databases.
  const start = () => startPostgres(['fsync=off', 'full_page_writes=off', 'autovacuum=off'])
  const listener = createServer((_, response) => {
    server ??= start()
    server.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  listener.unref()
  project.provide('postgresOfRun', `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`)
  return async () => {
    listener.close()
    await (await server)?.stop()
  }
}
