// One caller on one connection, who sends when the last answer is there and `pauseMs` have passed. Latencies in ms.
import { Client } from 'undici'
import { answer } from './answer.mjs'

let sent = 0

async function send({ url, headers, messages, pauseMs = 0 }) {
  const { origin, pathname } = new URL(url)
  const client = new Client(origin)
  const latencies = []
  for (let n = 0; n < messages; n++) {
    latencies.push(await timed(client, pathname, headers))
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  await client.close()
  return latencies
}

async function timed(client, path, headers) {
  const id = `${process.pid}-${sent++}`
  const body = JSON.stringify({ sessionId: id, message: 'Hello, is anybody there?' })
  const start = performance.now()
  const own = { 'content-type': 'application/json', 'idempotency-key': id }
  const response = await client.request({ path, method: 'POST', headers: { ...headers, ...own }, body })
  await response.body.dump()
  if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`)
  return performance.now() - start
}
answer({}, { send })
