import type { Invariant } from './violation.js'

const ENDS = new Set(['responded', 'failed', 'cancelled', 'delivered', 'exhausted'])

/** 4. After the repair of all faults, each message and each delivery ends. */
export const drained: Invariant = function* ({ final }) {
  for (const { messageId, state } of final.messages)
    if (!ENDS.has(state)) yield { of: messageId, problem: `the message is still ${state}` }
  for (const { deliveryId, status } of final.deliveries)
    if (!ENDS.has(status)) yield { of: deliveryId, problem: `the delivery is still ${status}` }
}
