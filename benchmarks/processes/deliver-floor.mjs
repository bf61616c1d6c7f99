// What no design beats on this stack: sign and send, with nothing stored.
import { createHmac } from 'node:crypto'
import { Pool } from 'undici'
import { usage } from './usage.mjs'

const [url, count] = process.argv.slice(2)
const IN_FLIGHT = 64
const body = JSON.stringify({ event: 'message.responded', data: { response: 'x'.repeat(450) } })
const { origin, pathname } = new URL(url)
const pool = new Pool(origin, { connections: IN_FLIGHT })

async function worker(next) {
  while (next()) {
    const signature = `sha256=${createHmac('sha256', 'whsec_secret').update(body).digest('hex')}`
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature }
    const response = await pool.request({ path: pathname, method: 'POST', headers, body })
    await response.body.dump()
  }
}

process.on('message', async () => {
  const before = usage()
  const start = performance.now()
  let left = Number(count)
  await Promise.all(Array.from({ length: IN_FLIGHT }, () => worker(() => left-- > 0)))
  process.send({ seconds: (performance.now() - start) / 1000, cpuMicros: usage().cpuMicros - before.cpuMicros })
})
process.send({})
