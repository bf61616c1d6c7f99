import type { Verify } from './signatures.js'
import type { Invariant } from './violation.js'

/** 7. Every request that a receiver got is signed for it, and holds the stored bytes, the same each time. */
export const sameBytes = (verify: Verify): Invariant =>
  function* ({ received, final }) {
    const secrets = new Map(final.webhooks.map(({ webhookId, secret }) => [webhookId, secret]))
    const bodies = new Map(final.deliveries.map(({ deliveryId, body }) => [deliveryId, body]))
    const owners = new Map(
      final.deliveries.map(({ deliveryId, webhookId }) => [deliveryId, webhookId]),
    )
    for (const { webhookId, headers, body } of received) {
      const deliveryId = headers['webhook-id'] ?? ''
      if (!verify(secrets.get(webhookId) ?? '', headers, body))
        yield { of: deliveryId, what: 'a request of it did not verify' }
      const stored = bodies.get(deliveryId)
      if (stored === undefined) bodies.set(deliveryId, body) // purged: its requests must still be equal among themselves
      else if (stored !== body)
        yield { of: deliveryId, what: 'a request of it held other bytes than are stored' }
      if ((owners.get(deliveryId) ?? webhookId) !== webhookId)
        yield { of: deliveryId, what: 'it was sent to the receiver of another webhook' }
      if (stored === undefined && final.purgedBefore === undefined)
        yield { of: deliveryId, what: 'a receiver got it, and it does not exist' }
    }
  }
