import type { WebhookEvent } from './events.js'
import { keyIn } from './secrets.js'
import { hmac } from './verify.js'

const encoder = new TextEncoder()

export type SignedTestEvent = { readonly body: string; readonly headers: Record<string, string> }

/** Signs a request like the service does, for tests of your receiver. */
export async function signTestEvent(
  event: WebhookEvent,
  secret: string,
  {
    deliveryId = crypto.randomUUID(),
    now = Date.now(),
  }: { readonly deliveryId?: string; readonly now?: number } = {},
): Promise<SignedTestEvent> {
  const body = JSON.stringify(event)
  const timestamp = String(Math.floor(now / 1000))
  const standard = await hmac(keyIn(secret), encoder.encode(`${deliveryId}.${timestamp}.${body}`))
  const plain = await hmac(encoder.encode(secret), encoder.encode(body))
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'X-Service-Delivery': deliveryId,
      'X-Service-Event': event.event,
      'X-Service-Signature': `sha256=${hex(plain)}`,
      'webhook-id': deliveryId,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${btoa(String.fromCharCode(...standard))}`,
    },
  }
}

const hex = (bytes: Uint8Array) =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
