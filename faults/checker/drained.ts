import type { Invariant } from './violation.js'

const ENDS = new Set(['responded', 'failed', 'cancelled', 'delivered', 'exhausted'])

/** 4. Once everything is healed, nothing is left that has not ended. */
export const drained: Invariant = function* ({ final }) {
  for (const { messageId, state } of final.messages)
    if (!ENDS.has(state)) yield { of: messageId, what: `the message is still ${state}` }
  for (const { deliveryId, status } of final.deliveries)
    if (!ENDS.has(status)) yield { of: deliveryId, what: `the delivery is still ${status}` }
}
