// Callers without pauses on all connections. Each request has a new idempotency key. With
// `randomKeys`, the keys have no order, as a client's UUIDs have none.
import { randomUUID } from 'node:crypto'
import autocannon from 'autocannon'
import { answer } from './answer.mjs'
import { EVENT_TYPE, EVENTS } from './message.mjs'

let runs = 0

/** Doubles the time if no request ended. Autocannon aborts a request after ten seconds. */
async function load(options) {
  const result = await loadFor(options)
  return result.requests + result.failed > 0
    ? result
    : load({ ...options, seconds: options.seconds * 2 })
}

const MESSAGE = {
  sessionId: 'session-[<id>]',
  message: 'Hello, can you help me?',
  metadata: { channel: 'C1', correlationId: '42' },
}

/** An event with a new id. */
const eventOf = (run) => ({
  type: EVENT_TYPE,
  id: `${run}-[<id>]`,
  data: { orderId: 'o-42', amount: 1_200 },
  metadata: MESSAGE.metadata,
})

async function loadFor({ url, headers, seconds, connections, randomKeys = false, body = MESSAGE }) {
  const run = `${process.pid}-${runs++}`
  const publishes = new URL(url).pathname === EVENTS
  const result = await autocannon({
    url,
    method: 'POST',
    connections,
    duration: seconds,
    sampleInt: Math.min(1_000, 1_000 * seconds), // Autocannon ends with a sample.
    ...(randomKeys && { requests: [{ setupRequest: withRandomKey }] }),
    headers: {
      ...headers,
      'content-type': 'application/json',
      ...(!publishes && { 'idempotency-key': `${run}-[<id>]` }),
    },
    idReplacement: true,
    body: JSON.stringify(publishes ? eventOf(run) : body),
  })
  return {
    requests: result['2xx'],
    failed: result.non2xx + result.errors,
    reasons: reasonsOf(result),
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
  }
}

const withRandomKey = (request) => ({
  ...request,
  headers: { ...request.headers, 'idempotency-key': randomUUID() },
})

const reasonsOf = ({ statusCodeStats, timeouts }) =>
  [
    ...Object.keys(statusCodeStats).filter((status) => !status.startsWith('2')),
    ...(timeouts > 0 ? ['timeout'] : []),
  ].join(', ')
answer({}, { load })
