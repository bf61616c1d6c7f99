import { Worker } from 'node:worker_threads'
import {
  type LeaseKeeper,
  LeaseTable,
  type SharedLeases,
  threadKeeper,
} from '@org/agent-messaging-core/storage'
import type pg from 'pg'
import { connectionTo } from './database/postgres-url.js'

export type PostgresLeaseKeeperOptions = (
  | { readonly connectionString: string }
  /**
   * The thread opens its own connection to the pool's database. It asks this thread for a password
   * that the pool gets from a function. Functions of `ssl` and `stream` cannot be passed to a thread.
   */
  | { readonly pool: pg.Pool }
) & {
  /** The policy's `runLeaseMs`. */
  readonly leaseMs: number
  /** Called with the reason when leases cannot be extended, once per outage. */
  readonly onError?: (reason: string) => void
}

export type PostgresLeaseKeeper = LeaseKeeper & {
  /** Ends the thread. The thread does not keep the process alive. */
  close(): Promise<void>
}

/** Further concurrent runs of one process are extended by the dispatcher alone. */
const SLOTS = 4_096

/** What `pg` tells a password function about the connection. */
export type PasswordPlace = Partial<Pick<pg.Client, 'host' | 'port' | 'user' | 'database'>>
/** The types of `pg` lack the parameter. */
type Password = (place: PasswordPlace) => string | Promise<string>

/** The data that the thread starts with. */
export type ThreadData = {
  readonly connection: pg.ClientConfig
  /** True if the thread must ask for the password of each connection. */
  readonly asks: boolean
  readonly leaseMs: number
  readonly sql: typeof extendSql
  readonly leases: SharedLeases
}
/**
 * Like `MessageStore.extendLeases`, for running heads whose token is still valid. Never shortens a
 * lease. Skips sessions that another transaction has locked until the next round. Counts by the
 * database's clock, as the storage does.
 */
const extendSql = {
  // The commit does not wait for the disk: a lost one only shortens a lease.
  begin: `begin isolation level read committed;
    set local idle_in_transaction_session_timeout = '10s'; set local synchronous_commit = off`,
  lock: `
    select seq from agent_messaging.sessions where seq in
      (select session_seq from agent_messaging.messages where id = any($1::text[]))
    for update skip locked`,
  extend: `
    update agent_messaging.sessions s set due_at = lease.until
    from unnest($1::text[], $2::bigint[], $3::bigint[]) as held (message_id, token, until),
      agent_messaging.messages m,
      lateral (select least(held.until,
        (extract(epoch from clock_timestamp()) * 1000)::bigint + $5) as until) as lease
    where m.id = held.message_id and s.seq = m.session_seq and s.seq = any($4::bigint[])
      and s.lease = held.token and s.head_position = m.position and m.state = 'running'
      and s.due_at < lease.until`,
}

/**
 * Extends leases from a thread with its own connection, which agents' code cannot block. The first
 * lease starts the thread. The thread reads the leases from shared memory, because a message per run
 * would cost more than the rest of the run.
 */
export function postgresLeaseKeeper({
  leaseMs,
  onError = () => undefined,
  ...place
}: PostgresLeaseKeeperOptions): PostgresLeaseKeeper {
  const from = 'pool' in place ? connectionOf(place.pool) : connectionTo(place.connectionString)
  const connection = { ...from, application_name: 'agent_messaging_lease_keeper' }
  const table = new LeaseTable(SLOTS)
  const password = 'pool' in place ? place.pool.options.password : undefined
  const asks = typeof password === 'function'
  const workerData: ThreadData = { connection, asks, leaseMs, sql: extendSql, leases: table.shared }
  const passwordOf = async (place: PasswordPlace) =>
    asks ? (password as Password)(place) : undefined
  return threadKeeper(table, () => startThread(workerData, passwordOf, onError), onError)
}

/** Returns a function that ends the thread. */
function startThread(
  workerData: ThreadData,
  passwordOf: (place: PasswordPlace) => Promise<string | undefined>,
  onError: (reason: string) => void,
) {
  const file = new URL('./postgres-lease-keeper-thread.js', import.meta.url)
  const thread = new Worker(file, { workerData, execArgv: [] })
  const exited = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  thread.on('message', (message: string | PasswordPlace) => {
    if (typeof message === 'string') return onError(message)
    // Without an answer the thread reports that its connection has timed out.
    passwordOf(message)
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      .then((password) => thread.postMessage({ password }))
      .catch((error: unknown) => onError(String(error)))
  })
  thread.on('error', (error) => onError(String(error)))
  thread.unref()
  return () => {
    thread.ref()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    thread.postMessage('close')
    return exited
  }
}

/**
 * Returns the connection options of a pool as data for a thread. Leaves out functions, such as one
 * that returns the password.
 */
export function connectionOf({ options: all }: pg.Pool): pg.ClientConfig {
  const { connectionString, host, port, user, password, database, options, ssl } = all
  return {
    ...dataOf({ connectionString, host, port, user, password, database, options }),
    // pg hides the key from a copy of its options.
    ...(ssl !== undefined && {
      ssl: typeof ssl === 'object' ? dataOf({ ...ssl, key: ssl.key }) : ssl,
    }),
  }
}

const dataOf = <T extends object>(parts: T): Partial<T> =>
  Object.fromEntries(Object.entries(parts).filter(([, part]) => isData(part))) as Partial<T>

const isData = (part: unknown): boolean =>
  ['string', 'number', 'boolean'].includes(typeof part) ||
  part instanceof Uint8Array ||
  (Array.isArray(part) && part.every(isData))
