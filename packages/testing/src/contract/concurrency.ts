import { expect } from 'vitest'
import { deliveryViolations } from './deliveries/delivery-checks.js'
import { ofKind, type History } from './history.js'
import { leaseViolations } from './messages/lease-checks.js'
import { messageViolations } from './messages/message-checks.js'
import type { StorageTest } from './storage-test.js'
import { runWorkload } from './workload.js'

const SEEDS = [1, 2, 3]
/** `concurrency.test.ts` finds each planted bug in as many rounds of the first seed. */
export const ROUNDS = 75
/** For a database far away; in memory it takes a fraction of a second. */
const TIMEOUT_MS = 240_000

/** Sentences about each promise that this history breaks. */
export const violations = (history: History): string[] => [
  ...messageViolations(history),
  ...leaseViolations(history),
  ...deliveryViolations(history),
]

export function concurrencySuite(it: StorageTest): void {
  it.for(SEEDS)(
    'G1 to G5 hold for processes that crash, stall and repeat themselves (seed %i)',
    { timeout: TIMEOUT_MS },
    async (seed, { instances }) => {
      const history = await runWorkload({ storages: instances, seed, rounds: ROUNDS })
      expect(violations(history)).toEqual([])
      const nothing = Object.entries(countsOf(history)).filter(([, count]) => count === 0)
      expect(nothing, 'what never happened, so that the history proves little').toEqual([])
    },
  )
}

const countsOf = ({
  sends,
  runs,
  deliveries,
  deliveriesLeft,
}: History): Record<string, number> => ({
  attachedSends: sends.filter(({ messageId, isNew }) => messageId !== undefined && !isNew).length,
  lostRuns: ofKind(runs, 'claimed').filter(({ claimed }) => claimed.lost === 'running').length,
  lateResults: ofKind(runs, 'recorded').filter(({ ok }) => !ok).length,
  lateAttempts: ofKind(deliveries, 'attempted').filter(({ ok }) => !ok).length,
  deliveries: deliveriesLeft.length,
})
