// Callers with pauses. `send` sends on one connection, `pauseMs` after each answer. `pace` sends
// `rate` messages a second at even intervals, and `flood` has no pauses. Both count answers of 503.
// Latencies are in ms.
import { Client, Pool } from 'undici'
import { percentiles } from '../rows/figures.mjs'
import { answer } from './answer.mjs'
import { sendMessage } from './message.mjs'

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function send({ url, headers, messages, pauseMs = 0 }) {
  const { origin, pathname: path } = new URL(url)
  const client = new Client(origin)
  const latencies = []
  for (let n = 0; n < messages; n++) {
    latencies.push(await sendMessage(client, { path, headers }))
    if (pauseMs > 0) await sleep(pauseMs)
  }
  await client.close()
  return latencies
}

/** Handles a rejection at once, as `Promise.allSettled` does later. */
const settled = async (sending) => (await Promise.allSettled([sending]))[0]

async function pace({ url, headers, rate, seconds, connections }) {
  const { origin, pathname: path } = new URL(url)
  const pool = new Pool(origin, { connections })
  const since = performance.now()
  const sends = []
  for (let n = 0; n < rate * seconds; n++) {
    const early = since + (n * 1_000) / rate - performance.now()
    if (early >= 1) await sleep(early)
    sends.push(settled(sendMessage(pool, { path, headers })))
  }
  const ended = await Promise.all(sends)
  await pool.close()
  return tally(ended, since)
}

/**
 * Callers that ask again at once, also after a 503. With `reads`, they list messages. `stop` is the
 * longest time between two answers. With `callers`, they take turns.
 */
async function flood({ url, headers, seconds, connections, reads = false, webhook, callers }) {
  const { origin, pathname: path } = new URL(url)
  let turn = 0
  const next = () => callers?.[turn++ % callers.length] ?? { headers }
  const ask = reads ? listMessages : sendMessage
  const since = performance.now()
  const ended = []
  let [last, stop] = [since, 0]
  const caller = async () => {
    const client = new Client(origin) // A pool would search for a free connection.
    while (performance.now() < since + 1_000 * seconds) {
      ended.push(await settled(ask(client, { path, headers: next().headers, webhook })))
      const now = performance.now()
      stop = Math.max(stop, now - last)
      last = now
    }
    await client.close()
  }
  await Promise.all(Array.from({ length: connections }, caller))
  return { ...tally(ended, since), stop }
}

function tally(ended, since) {
  const seconds = (performance.now() - since) / 1_000
  const rejections = ended.filter(({ status }) => status === 'rejected')
  const failures = rejections.filter(({ reason }) => reason.statusCode !== 503)
  const latencies = ended.filter(({ status }) => status === 'fulfilled').map(({ value }) => value)
  const reasons = [...new Set(failures.map(({ reason }) => String(reason)))].join(', ')
  return {
    requests: latencies.length,
    refused: rejections.length - failures.length,
    failed: failures.length,
    reasons,
    seconds,
    ...percentiles(latencies),
  }
}

async function listMessages(dispatcher, { path, headers }) {
  const { statusCode, body } = await dispatcher.request({ path, method: 'GET', headers })
  await body.dump()
  if (statusCode !== 200) throw Object.assign(new Error(`answered ${statusCode}`), { statusCode })
}
answer({}, { send, pace, flood })
