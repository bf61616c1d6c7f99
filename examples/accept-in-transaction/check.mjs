// Kills the shop as soon as it has accepted an order. After the next start, the order and its
// message are there once, and the message gets its answer.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { startPostgres } from '../../packages/adapter-postgres/test/postgres-server.mjs'
import { freePort } from '../../scripts/free-port.mjs'
import { Programs } from '../../scripts/programs.mjs'

const programs = new Programs()
const postgres = await startPostgres([])
const port = String(await freePort())
const orders = `http://127.0.0.1:${port}/orders`
const env = {
  ...process.env,
  PORT: port,
  DATABASE_URL: postgres.url,
  MASTER_KEY: randomBytes(32).toString('hex'),
}
const seen = async () => (await fetch(orders)).json()
async function start() {
  const shop = programs.start(import.meta.dirname, 'exec node server.ts', env)
  await programs.until('the shop starts', seen)
  return shop
}
const order = { id: 'o-1', customer: 'ada', wish: 'Two teapots' }

try {
  const shop = await start()
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', headers, body: JSON.stringify(order) }
  const { messageId } = await (await fetch(orders, request)).json()
  await programs.end(shop, 'SIGKILL')
  const next = await start()
  await programs.until('the order is packed', async () => {
    const [message] = (await seen()).messages
    return message.state === 'responded'
  })
  const { orders: rows, messages } = await seen()
  assert.deepEqual(rows, [{ id: 'o-1', customer: 'ada' }])
  assert.deepEqual(
    messages.map((message) => [message.messageId, message.response]),
    [[messageId, 'Packed: Two teapots']],
  )
  await programs.end(next, 'SIGTERM')
  assert.equal(next.exitCode, 0)
} finally {
  await programs.endAll()
  await postgres.stop()
}
console.log('An order and its message: a kill, the answer, a stop')
