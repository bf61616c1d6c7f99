let sent = 0

/** The path of published events. */
export const EVENTS = '/v1/events'

/** The type of the events that the benchmarks publish. */
export const EVENT_TYPE = 'order.paid'

/**
 * Sends a message with a new session and idempotency key, and with the webhook if there is one. To
 * the path of events, publishes an event with a new id. Returns its latency in ms.
 */
export async function sendMessage(dispatcher, { path, headers, webhook }) {
  const id = `${process.pid}-${sent++}`
  const publishes = path === EVENTS
  const own = publishes
    ? { type: EVENT_TYPE, id, data: { orderId: id, amount: 1_200 } }
    : { sessionId: id, message: 'Hello, can you help me?', webhook }
  const since = performance.now()
  const response = await dispatcher.request({
    path,
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      ...(!publishes && { 'idempotency-key': id }),
    },
    body: JSON.stringify(own),
  })
  await response.body.dump()
  const { statusCode } = response
  if (statusCode !== (publishes ? 202 : 200))
    throw Object.assign(new Error(`answered ${statusCode}`), { statusCode })
  return performance.now() - since
}
