import { PostgresClient } from './postgres-client.js'
import { connectionTo } from './postgres-url.js'

const CONNECT_MS = 5_000

/** A client for one piece of work. It is not connected. Throws a `PostgresOpenError`. */
export function newClient(url: string): PostgresClient {
  const client = new PostgresClient({ ...connectionTo(url), connectionTimeoutMillis: CONNECT_MS })
  return client.on('error', () => undefined) // the running query reports it
}
