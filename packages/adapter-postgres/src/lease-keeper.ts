import { Worker } from 'node:worker_threads'
import type { HeldRun, LeaseKeeper } from '@org/agent-messaging-core/storage'
import type pg from 'pg'
import { connectionOf } from './connection-of.js'

export type PostgresLeaseKeeperOptions = (
  | { readonly connectionString: string }
  /**
   * The thread opens its own connection to the pool's database. A password that the pool gets from
   * a function cannot be passed to a thread.
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

/** The thread learns of ended runs within this time. */
const RELEASE_MS = 1_000

/** The data that the thread starts with. */
export type ThreadData = {
  readonly connection: pg.ClientConfig
  readonly leaseMs: number
  readonly sql: typeof extendSql
}
/** A message to the thread. */
export type Command =
  | { readonly hold: Parameters<LeaseKeeper['hold']>[0] }
  | { readonly release: HeldRun }
  | { readonly close: true }

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

/** Extends leases from a thread with its own connection, which agents' code cannot block. */
export function postgresLeaseKeeper({
  leaseMs,
  onError = () => undefined,
  ...place
}: PostgresLeaseKeeperOptions): PostgresLeaseKeeper {
  const from = 'pool' in place ? connectionOf(place.pool) : place
  const connection = { ...from, application_name: 'agent_messaging_lease_keeper' }
  const thread = new LeaseThread({ connection, leaseMs, sql: extendSql }, onError)
  return {
    hold: (run) => thread.post({ hold: run }),
    // Not urgent: the lease of an ended run cannot be extended.
    release: (run) => thread.postLater({ release: run }),
    close: () => thread.close(),
  }
}

/**
 * Posts commands to the thread in their order. One post costs as much as the rest of a run, so
 * commands share posts: a post leaves at the end of the current task, before a run takes its first
 * step.
 */
class LeaseThread {
  readonly #worker: Worker
  readonly #exited: Promise<unknown>
  readonly #unposted: Command[] = []
  #isPostDue = false
  #later: NodeJS.Timeout | undefined

  constructor(workerData: ThreadData, onError: (reason: string) => void) {
    const file = new URL('./postgres-lease-keeper-thread.js', import.meta.url)
    this.#worker = new Worker(file, { workerData, execArgv: [] })
    this.#exited = new Promise((resolve) => this.#worker.once('exit', resolve))
    this.#worker.on('message', onError).on('error', (error) => onError(String(error)))
    this.#worker.unref()
  }

  post(command: Command): void {
    this.#unposted.push(command)
    if (this.#isPostDue) return
    this.#isPostDue = true
    queueMicrotask(this.#flush)
  }

  /** Posts with the next urgent command, or within a second. */
  postLater(command: Command): void {
    this.#unposted.push(command)
    this.#later ??= setTimeout(this.#flush, RELEASE_MS).unref()
  }

  async close(): Promise<void> {
    this.#worker.ref()
    this.post({ close: true })
    await this.#exited
  }

  readonly #flush = (): void => {
    this.#isPostDue = false
    clearTimeout(this.#later)
    this.#later = undefined
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage(this.#unposted.splice(0))
  }
}
