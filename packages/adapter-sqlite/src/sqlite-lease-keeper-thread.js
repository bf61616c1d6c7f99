// The thread of lease-keeper.ts, in plain JavaScript without imports of this package, so that
// Node loads it from src and from dist. The thread sleeps on `stopped` and extends leases in
// between.
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'

const RETRY_MS = 20

/** @type {import('./lease-keeper.js').ThreadData} */
const { path, sql, leaseMs, leases, stopped } = workerData
const intervalMs = Math.ceil(leaseMs / 3)
const ids = Buffer.from(leases.ids.buffer)

/** @type {Database.Database | undefined} */
let db
/** @type {Database.Transaction<(slots: number[]) => void> | undefined} */
let extendAll

/** A new file in place of a missing one would be empty, and SQLite deletes the log beside it. */
function open() {
  db?.close()
  db = new Database(path, { timeout: intervalMs, fileMustExist: true })
  // This connection only moves the end of leases, which need not survive a power failure.
  // Therefore it waits for no sync, and leaves checkpoints to other connections.
  db.pragma('synchronous = NORMAL')
  db.pragma('wal_autocheckpoint = 0')
  const extend = db.prepare(sql)
  return db.transaction((/** @type {number[]} */ slots) => {
    const now = Date.now()
    for (const slot of slots) {
      const messageId = ids.toString('latin1', slot * 36, slot * 36 + 36)
      extend.run({
        messageId,
        token: leases.tokens[slot],
        until: Math.min(now + leaseMs, leases.untils[slot] ?? 0),
      })
    }
  })
}

/** False after a failure, which is reported once and retried soon. */
let succeeded = true
function extendLeases() {
  const slots = Array.from(leases.held.keys()).filter(
    (slot) => Atomics.load(leases.held, slot) === 1,
  )
  try {
    extendAll ??= open()
    if (slots.length > 0) extendAll.immediate(slots)
    succeeded = true
  } catch (error) {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
    if (succeeded) parentPort?.postMessage(String(error))
    succeeded = false
  }
}

extendLeases()
while (Atomics.wait(stopped, 0, 0, succeeded ? intervalMs : RETRY_MS) === 'timed-out')
  extendLeases()
db?.close()
