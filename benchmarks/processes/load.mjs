// The callers: keep every connection busy, each request with an idempotency key of its own.
import autocannon from 'autocannon'

process.on('message', async ({ url, headers, seconds, connections }) => {
  const run = `${Date.now()}`
  const result = await autocannon({
    url,
    method: 'POST',
    connections,
    duration: seconds,
    headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': `${run}-[<id>]` },
    idReplacement: true,
    body: JSON.stringify({
      sessionId: 'session-[<id>]',
      message: 'Hello, is anybody there?',
      metadata: { channel: 'C1', correlationId: '42' },
    }),
  })
  process.send({
    requests: result['2xx'],
    failed: result.non2xx + result.errors,
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
  })
})
process.send({})
