// The callers: keep every connection busy, or send at `rate` a second; each request with an idempotency key of its own.
import autocannon from 'autocannon'
import { answer } from './answer.mjs'

let runs = 0

async function load({ url, headers, seconds, connections, rate }) {
  const run = `${process.pid}-${runs++}`
  const result = await autocannon({
    url,
    method: 'POST',
    connections,
    duration: seconds,
    ...(rate !== undefined && { overallRate: rate }),
    headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': `${run}-[<id>]` },
    idReplacement: true,
    body: JSON.stringify({
      sessionId: 'session-[<id>]',
      message: 'Hello, is anybody there?',
      metadata: { channel: 'C1', correlationId: '42' },
    }),
  })
  return {
    requests: result['2xx'],
    failed: result.non2xx + result.errors,
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
  }
}
answer({}, { load })
