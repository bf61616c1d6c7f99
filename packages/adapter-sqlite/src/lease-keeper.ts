import { Worker } from 'node:worker_threads'
import {
  LeaseTable,
  threadKeeper,
  type LeaseKeeper,
  type SharedLeases,
} from '@org/agent-messaging-core/storage'

export type SqliteLeaseKeeperOptions = {
  /** The path of the storage. */
  readonly path: string
  /** The policy's `runLeaseMs`. */
  readonly leaseMs: number
  /** Called with the reason when leases cannot be extended. Called again only after a success. */
  readonly onError?: (reason: string) => void
}

export type SqliteLeaseKeeper = LeaseKeeper & {
  /** Ends the thread. Without this call the thread ends with the process. */
  close(): Promise<void>
}

/** The input of the thread. `stopped` holds 1 when the thread must end. */
export type ThreadData = Pick<SqliteLeaseKeeperOptions, 'path' | 'leaseMs'> & {
  readonly sql: string
  readonly leases: SharedLeases
  readonly stopped: Int32Array
}

/** Further concurrent runs of one process are extended by the dispatcher alone. */
const SLOTS = 4_096

/**
 * Like `MessageStore.extendLeases`, for a head that still runs under this token. Never shortens a
 * lease.
 */
export const extendLeaseSql = `
  update sessions set due_at = @until
  where seq = (select m.session_seq from messages m where m.id = @messageId and m.state = 'running')
    and head_position = (select m.position from messages m where m.id = @messageId)
    and lease = @token and due_at < @until`

/**
 * Extends leases in the SQLite file from a separate thread, so that they stay valid while the main
 * thread is blocked. The first lease starts the thread. For `:memory:` it does nothing, because no
 * other process can claim there.
 */
export function sqliteLeaseKeeper({
  path,
  leaseMs,
  onError = () => undefined,
}: SqliteLeaseKeeperOptions): SqliteLeaseKeeper {
  if (path === ':memory:')
    return { hold: () => undefined, release: () => undefined, close: async () => undefined }
  const table = new LeaseTable(SLOTS)
  const stopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const workerData: ThreadData = {
    path,
    leaseMs,
    sql: extendLeaseSql,
    leases: table.shared,
    stopped,
  }
  return threadKeeper(table, () => startThread(workerData, onError), onError)
}

/** Returns a function that ends the thread. */
function startThread(workerData: ThreadData, onError: (reason: string) => void) {
  const file = new URL('./sqlite-lease-keeper-thread.js', import.meta.url)
  const thread = new Worker(file, { workerData, execArgv: [] })
  const exited = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  thread.on('message', onError).on('error', (error) => onError(String(error)))
  thread.unref()
  return () => {
    thread.ref()
    Atomics.store(workerData.stopped, 0, 1)
    Atomics.notify(workerData.stopped, 0)
    return exited
  }
}
