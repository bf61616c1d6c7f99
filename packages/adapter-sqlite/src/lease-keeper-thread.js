// The thread of lease keeper.ts. Plain JavaScript that imports nothing of ours, so that Node loads it from src as from dist. It has no
// event loop to speak of: it sleeps on `stopped`, and does its work in between.
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'

const RETRY_MS = 20

/** @type {import('./lease-keeper.js').ThreadData} */
const { path, sql, leaseMs, leases, stopped } = workerData
const beatMs = Math.ceil(leaseMs / 3)
const ids = Buffer.from(leases.ids.buffer)

const db = new Database(path, { timeout: beatMs })
// What this connection writes need not outlive the machine: it only ever moves the end of a lease. So it waits for no disk, and
// leaves checkpoints to the others.
db.pragma('synchronous = NORMAL')
db.pragma('wal_autocheckpoint = 0')
const extend = db.prepare(sql)
const extendAll = db.transaction((/** @type {number[]} */ slots) => {
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

/** Whether all is well; what is not is told once, and tried again soon. */
let isWell = true
function beat() {
  const slots = Array.from(leases.held.keys()).filter(
    (slot) => Atomics.load(leases.held, slot) === 1,
  )
  try {
    if (slots.length > 0) extendAll.immediate(slots)
    isWell = true
  } catch (error) {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread, not a window
    if (isWell) parentPort?.postMessage(String(error))
    isWell = false
  }
}

while (Atomics.wait(stopped, 0, 0, isWell ? beatMs : RETRY_MS) === 'timed-out') beat()
db.close()
