// The thread of lease-keeper.ts. Plain JavaScript that imports no file of this package, so that
// Node can load it from src and from dist.
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import pg from 'pg'
import { clientClass } from './database/postgres-client.js'

const RETRY_MS = 100
const LONGEST_ANSWER_MS = 5_000

/** @type {import('./lease-keeper.js').ThreadData} */
const { connection, asks, leaseMs, sql, leases } = workerData
const roundMs = Math.ceil(leaseMs / 3)
const ID_LENGTH = 36
const idBytes = Buffer.from(leases.ids.buffer)
const closing = new AbortController()
/** @type {((password: string | undefined) => void)[]} */
const asking = []
parentPort?.on('message', (message) => {
  if (message === 'close') closing.abort()
  else for (const resolve of asking.splice(0)) resolve(message.password)
})

/**
 * Asks the main thread, which has the function that returns it. `pg` says for which connection.
 *
 * @param {import('./lease-keeper.js').PasswordPlace} [place]
 */
const password = ({ host, port, user, database } = {}) =>
  new Promise((resolve) => {
    asking.push(resolve)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread, not a window
    parentPort?.postMessage({ host, port, user, database })
  })

// A dead connection costs one round at most, and a lease lasts three.
const answerMs = Math.min(roundMs, LONGEST_ANSWER_MS)
const pool = new pg.Pool({
  Client: clientClass(pg),
  ...connection,
  ...(asks && { password }),
  max: 1,
  // The main thread can be busy when another connection needs a password.
  idleTimeoutMillis: 0,
  connectionTimeoutMillis: answerMs,
  query_timeout: answerMs,
  keepAlive: true,
})
pool.on('error', () => undefined) // the next round opens another connection
pool.on('connect', (client) => void client.on('error', () => undefined))

const heldSlots = () =>
  Array.from(leases.held.keys()).filter((slot) => Atomics.load(leases.held, slot) === 1)

async function extendAll(/** @type {readonly number[]} */ slots) {
  const ids = slots.map((slot) =>
    idBytes.toString('latin1', slot * ID_LENGTH, (slot + 1) * ID_LENGTH),
  )
  const tokens = slots.map((slot) => leases.tokens[slot])
  const untils = slots.map((slot) => leases.untils[slot])
  const client = await pool.connect()
  try {
    await client.query(sql.begin)
    const locked = await client.query(sql.lock, [ids])
    await client.query(sql.extend, [
      ids,
      tokens,
      untils,
      locked.rows.map(({ seq }) => seq),
      leaseMs,
    ])
    await client.query('commit')
    client.release()
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** If a host has several addresses, the error has a code but no message. */
const reasonOf = (/** @type {unknown} */ error) =>
  error instanceof Error ? error.message || String(Reflect.get(error, 'code')) : String(error)

/** False during an outage, which is reported once. */
let isWell = true
async function runRound() {
  const slots = heldSlots()
  try {
    if (slots.length > 0) await extendAll(slots)
    isWell = true
  } catch (error) {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread, not a window
    if (isWell) parentPort?.postMessage(reasonOf(error))
    isWell = false
  }
}

while (!closing.signal.aborted) {
  await sleep(isWell ? roundMs : RETRY_MS, undefined, { signal: closing.signal }).catch(
    () => undefined,
  )
  if (!closing.signal.aborted) await runRound()
}
await pool.end()
parentPort?.unref()
