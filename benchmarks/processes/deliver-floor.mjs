// The floor: signs and sends requests without storing them.
import { Pool } from 'undici'
import { answer } from './answer.mjs'
import { drained } from './drained.mjs'
import { body, IN_FLIGHT, signed } from './webhook.mjs'

const { url, deliveries } = JSON.parse(process.argv[2])
const { origin, pathname } = new URL(url)
const pool = new Pool(origin, { connections: IN_FLIGHT })

let delivered = 0

async function worker(next) {
  while (next()) {
    const response = await pool.request({
      path: pathname,
      method: 'POST',
      headers: signed(body),
      body,
    })
    await response.body.dump()
    delivered++
  }
}

async function drain({ uncounted }) {
  let left = deliveries
  for (let n = 0; n < IN_FLIGHT; n++) void worker(() => left-- > 0)
  return drained(() => delivered, { uncounted, deliveries })
}
answer({}, { fill: () => undefined, drain })
