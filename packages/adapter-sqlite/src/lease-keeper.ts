import { Worker } from 'node:worker_threads'
import type { LeaseKeeper } from '@org/agent-messaging-core/storage'
import { createLeaseTable, type SharedLeases } from './lease-table.js'

export type SqliteLeaseKeeperOptions = {
  /** The storage's. */
  readonly path: string
  /** The policy's `runLeaseMs`. */
  readonly leaseMs: number
  /** Hears why leases cannot be extended, once until they can be again. */
  readonly onError?: (reason: string) => void
}

export type SqliteLeaseKeeper = LeaseKeeper & {
  /** Ends the thread. Without it the thread ends with the process, which it does not keep alive. */
  close(): Promise<void>
}

/** What the thread is given. `stopped` holds a 1 when it is to end. */
export type ThreadData = Pick<SqliteLeaseKeeperOptions, 'path' | 'leaseMs'> & {
  readonly sql: string
  readonly leases: SharedLeases
  readonly stopped: Int32Array
}

/** More runs than that at once, in one process, are left to the dispatcher's own beat. */
const SLOTS = 4_096

/** As `MessageStore.extendLeases`, for a head that still runs under this token; and it never takes anything from a lease. */
export const extendLeaseSql = `
  update sessions set due_at = @until
  where seq = (select m.session_seq from messages m where m.id = @messageId and m.state = 'running')
    and head_position = (select m.position from messages m where m.id = @messageId)
    and lease = @token and due_at < @until`

/** Extends leases in the SQLite file from a thread of its own. For `:memory:` it does nothing: nobody else could claim there. */
export function sqliteLeaseKeeper({
  path,
  leaseMs,
  onError = () => undefined,
}: SqliteLeaseKeeperOptions): SqliteLeaseKeeper {
  if (path === ':memory:')
    return { hold: () => undefined, release: () => undefined, close: async () => undefined }
  const table = createLeaseTable(SLOTS)
  const stopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const workerData: ThreadData = {
    path,
    leaseMs,
    sql: extendLeaseSql,
    leases: table.shared,
    stopped,
  }
  const thread = new Worker(new URL('./lease-keeper-thread.js', import.meta.url), {
    workerData,
    execArgv: [],
  })
  const exited = new Promise((resolve) => thread.once('exit', resolve))
  thread.on('message', onError).on('error', (error) => onError(String(error)))
  thread.unref()
  return {
    hold: table.add,
    release: table.remove,
    async close() {
      thread.ref()
      Atomics.store(stopped, 0, 1)
      Atomics.notify(stopped, 0)
      await exited
    },
  }
}
