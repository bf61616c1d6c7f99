/**
 * Detects duplicates. The service delivers at least once: again if the receiver's response was
 * lost, or if an operator redelivers.
 */
export interface DedupeStore {
  /** Starts a delivery. `busy`: another call is processing it. `done`: a call has processed it. */
  begin(deliveryId: string): Promise<'begun' | 'busy' | 'done'>
  /** Marks the delivery as `done`. */
  finish(deliveryId: string): Promise<void>
  /** Releases a delivery whose handler failed, so that the next attempt can start. */
  abandon(deliveryId: string): Promise<void>
}

const MAX_REMEMBERED = 10_000

/** Keeps the newest deliveries, by default 10,000. Several processes need a shared store. */
export function memoryDedupe(max = MAX_REMEMBERED): DedupeStore {
  const known = new Map<string, 'busy' | 'done'>()
  return {
    begin: async (deliveryId) => {
      const state = known.get(deliveryId)
      if (state) return state
      known.set(deliveryId, 'busy')
      return 'begun'
    },
    finish: async (deliveryId) => {
      known.delete(deliveryId)
      known.set(deliveryId, 'done')
      for (const [oldest, state] of known) {
        if (known.size <= max) return
        if (state === 'done') known.delete(oldest)
      }
    },
    abandon: async (deliveryId) => void known.delete(deliveryId),
  }
}
