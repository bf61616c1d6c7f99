import { Worker } from 'node:worker_threads'
import type { Held, LeaseKeeper } from '@org/agent-messaging-core/storage'
import type pg from 'pg'
import { connectionOf } from './connection-of.js'

export type PostgresLeaseKeeperOptions = (
  | { readonly connectionString: string }
  /** Where that leads: the connection is the thread's own. A password that the pool asks a function for cannot be given to a thread. */
  | { readonly pool: pg.Pool }
) & {
  /** The policy's `runLeaseMs`. */
  readonly leaseMs: number
  /** Hears why leases cannot be extended, once until they can be again. */
  readonly onError?: (reason: string) => void
}

export type PostgresLeaseKeeper = LeaseKeeper & {
  /** Ends the thread. Without it the thread ends with the process, which it does not keep alive. */
  close(): Promise<void>
}

/** So long the thread may hold what has ended. */
const LATER_MS = 1_000

/** What the thread is given at its start. */
export type ThreadData = {
  readonly connection: pg.ClientConfig
  readonly leaseMs: number
  readonly sql: typeof extendSql
}
/** What the thread is told, in the order in which it happened. */
export type Told =
  | { readonly hold: Parameters<LeaseKeeper['hold']>[0] }
  | { readonly release: Held }
  | { readonly close: true }

/**
 * As `MessageStore.extendLeases`, for heads that still run under these tokens; and it never takes anything from a lease. A session that
 * somebody has locked is left to the next beat.
 */
const extendSql = {
  // Such a commit waits for no disk: it only ever moves the end of a lease.
  begin:
    "begin isolation level read committed; set local idle_in_transaction_session_timeout = '10s'; set local synchronous_commit = off",
  lock: `
    select seq from agent_messaging.sessions
    where seq in (select session_seq from agent_messaging.messages where id = any($1::text[])) for update skip locked`,
  extend: `
    update agent_messaging.sessions s set due_at = held.until
    from unnest($1::text[], $2::bigint[], $3::bigint[]) as held (message_id, token, until), agent_messaging.messages m
    where m.id = held.message_id and s.seq = m.session_seq and s.seq = any($4::bigint[]) and s.lease = held.token
      and s.head_position = m.position and m.state = 'running' and s.due_at < held.until`,
}

/** Extends leases from a thread with a connection of its own, which agents' code cannot hold up. */
export function postgresLeaseKeeper({
  leaseMs,
  onError = () => undefined,
  ...place
}: PostgresLeaseKeeperOptions): PostgresLeaseKeeper {
  const where =
    'pool' in place ? connectionOf(place.pool) : { connectionString: place.connectionString }
  const connection = { ...where, application_name: 'agent_messaging_lease_keeper' }
  const workerData: ThreadData = { connection, leaseMs, sql: extendSql }
  const thread = new Worker(new URL('./lease-keeper-thread.js', import.meta.url), {
    workerData,
    execArgv: [],
  })
  const exited = new Promise((resolve) => thread.once('exit', resolve))
  thread.on('message', onError).on('error', (error) => onError(String(error)))
  thread.unref()
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  const post = (): void => thread.postMessage(untold.splice(0))
  const untold: Told[] = []
  let isLeaving = false
  let later: NodeJS.Timeout | undefined
  // A message to a thread costs as much as a whole run otherwise: those that begin or end together share one. It goes off before the turn
  // of the event loop is over, and before any of the runs has taken its first step.
  function tell(told: Told): void {
    untold.push(told)
    if (isLeaving) return
    isLeaving = true
    queueMicrotask(leave)
  }

  function leave(): void {
    isLeaving = false
    clearTimeout(later)
    later = undefined
    post()
  }

  /** With the next ones that begin: the lease of what has ended is nobody's any more, and cannot be extended. */
  function tellLater(told: Told): void {
    untold.push(told)
    later ??= setTimeout(leave, LATER_MS).unref()
  }

  return {
    hold: (run) => tell({ hold: run }),
    release: (run) => tellLater({ release: run }),
    close: async () => {
      thread.ref()
      tell({ close: true })
      await exited
    },
  }
}
