let sent = 0

/**
 * Sends a message with a new session and idempotency key, and with the webhook if there is one.
 * Returns its latency in ms.
 */
export async function sendMessage(dispatcher, { path, headers, webhook }) {
  const id = `${process.pid}-${sent++}`
  const body = JSON.stringify({ sessionId: id, message: 'Hello, can you help me?', webhook })
  const since = performance.now()
  const own = { 'content-type': 'application/json', 'idempotency-key': id }
  const response = await dispatcher.request({
    path,
    method: 'POST',
    headers: { ...headers, ...own },
    body,
  })
  await response.body.dump()
  const { statusCode } = response
  if (statusCode !== 200) throw Object.assign(new Error(`answered ${statusCode}`), { statusCode })
  return performance.now() - since
}
