/**
 * Remembers deliveries, so that a duplicate is not worked on twice. Deliveries come at least once: a second time when our
 * first answer was lost, or when an operator asks for one that has arrived.
 */
export interface DedupeStore {
  /** Takes the delivery for this process; `busy` while another call works on it, `done` once one has finished. */
  begin(deliveryId: string): Promise<'begun' | 'busy' | 'done'>
  /** It has been worked on: from now on it is `done`. */
  finish(deliveryId: string): Promise<void>
  /** The work failed: the next attempt may begin anew. */
  abandon(deliveryId: string): Promise<void>
}

const MOST_REMEMBERED = 10_000

/** In memory, the newest 10,000 unless told otherwise: enough for one process. Several want a store that they share. */
export function memoryDedupe(most = MOST_REMEMBERED): DedupeStore {
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
        if (known.size <= most) return
        if (state === 'done') known.delete(oldest)
      }
    },
    abandon: async (deliveryId) => void known.delete(deliveryId),
  }
}
