import { ok, safeTry } from 'neverthrow'
import type { Needs } from './context.js'
import type { SessionEvents } from '../ports/event-store.js'
import { chain } from '../pacing/chain.js'

const STEP = 100

/** Erases the published events of an agent, or of one of its sessions. Returns their number. */
export const erasePublished = (
  { storage, clock, deliverySender }: Needs<'storage' | 'clock' | 'deliverySender'>,
  of: Omit<SessionEvents, 'limit' | 'now'>,
) =>
  safeTry(async function* () {
    const { audit, ...events } = of
    let sum = 0
    for (;;) {
      const first = sum === 0 && audit ? { audit } : {}
      const step = { ...events, ...first, limit: STEP, now: clock.now() }
      const erased = yield* chain(storage.events.eraseOf(step))
      sum += erased
      if (erased < STEP) break
    }
    // The next deliveries of their orders are due.
    if (sum > 0) deliverySender.wake()
    return ok(sum)
  })
