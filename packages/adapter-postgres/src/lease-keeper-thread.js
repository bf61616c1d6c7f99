// The thread of lease keeper.ts. Plain JavaScript that imports nothing of ours, so that Node loads it from src as from dist.
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import pg from 'pg'

const RETRY_MS = 100

/** @type {import('./lease-keeper.js').ThreadData} */
const { connection, leaseMs, sql } = workerData
const beatMs = Math.ceil(leaseMs / 3)
const over = new AbortController()

/** @type {Map<string, import('@org/agent-messaging-core/storage').Held & { until: number }>} */
const held = new Map()
const keyOf = (
  /** @type {import('@org/agent-messaging-core/storage').Held} */ { messageId, token },
) => `${messageId} ${token}`

parentPort?.on('message', (/** @type {readonly import('./lease-keeper.js').Told[]} */ all) => {
  for (const told of all) {
    if ('hold' in told) held.set(keyOf(told.hold), told.hold)
    else if ('release' in told) held.delete(keyOf(told.release))
    else over.abort()
  }
})

// A connection that goes silent costs one beat, of which a lease has three.
const pool = new pg.Pool({
  ...connection,
  max: 1,
  connectionTimeoutMillis: beatMs,
  query_timeout: beatMs,
  keepAlive: true,
})
pool.on('error', () => undefined) // the next beat opens another connection
pool.on('connect', (client) => void client.on('error', () => undefined))

async function extendAll() {
  const runs = [...held.values()]
  const now = Date.now()
  const ids = runs.map(({ messageId }) => messageId)
  const tokens = runs.map(({ token }) => token)
  const untils = runs.map(({ until }) => Math.min(now + leaseMs, until))
  const client = await pool.connect()
  try {
    await client.query(sql.begin)
    const locked = await client.query(sql.lock, [ids])
    await client.query(sql.extend, [ids, tokens, untils, locked.rows.map(({ seq }) => seq)])
    await client.query('commit')
    client.release()
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** Where a name has several addresses, the error has a code alone. */
const reasonOf = (/** @type {unknown} */ error) =>
  error instanceof Error ? error.message || String(Reflect.get(error, 'code')) : String(error)

/** Whether all is well; what is not is told once, and tried again soon. */
let isWell = true
async function beat() {
  try {
    if (held.size > 0) await extendAll()
    isWell = true
  } catch (error) {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread, not a window
    if (isWell) parentPort?.postMessage(reasonOf(error))
    isWell = false
  }
}

while (!over.signal.aborted) {
  await sleep(isWell ? beatMs : RETRY_MS, undefined, { signal: over.signal }).catch(() => undefined)
  if (!over.signal.aborted) await beat()
}
await pool.end()
parentPort?.close()
