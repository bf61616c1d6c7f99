import { loadDriver } from './driver.js'
import type { PostgresClient } from './postgres-client.js'
import { connectionTo } from './postgres-url.js'

const CONNECT_MS = 5_000

/** A client for one piece of work. It is not connected. Rejects with a `PostgresOpenError`. */
export async function newClient(url: string): Promise<PostgresClient> {
  const { Client } = await loadDriver()
  const client = new Client({ ...connectionTo(url), connectionTimeoutMillis: CONNECT_MS })
  return client.on('error', () => undefined) // the running query reports it
}
