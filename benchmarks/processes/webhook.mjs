// The signed request of the floor and the peers. Its size equals the service's.
import { createHmac } from 'node:crypto'

export const IN_FLIGHT = 64
export const body = JSON.stringify({
  event: 'message.responded',
  data: { response: 'x'.repeat(450) },
})

export function signed(text) {
  const signature = `sha256=${createHmac('sha256', 'whsec_secret').update(text).digest('hex')}`
  return { 'content-type': 'application/json', 'x-service-signature': signature }
}

/** Sends a request. Throws if the receiver does not answer 2xx. */
export async function deliver(url, text) {
  const response = await fetch(url, {
    method: 'POST',
    headers: signed(text),
    body: text,
    signal: AbortSignal.timeout(15_000),
  })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
}
