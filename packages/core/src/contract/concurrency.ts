import { expect } from 'vitest'
import { deliveryViolations } from './delivery-checks.js'
import type { History } from './history.js'
import { leaseViolations } from './lease-checks.js'
import { messageViolations } from './message-checks.js'
import type { StorageTest } from './storage-test.js'
import { runWorkload } from './workload.js'

const SEEDS = [1, 2, 3]
const ROUNDS = 150

/** Sentences about each promise that this history breaks. */
export const violations = (history: History): string[] => [
  ...messageViolations(history),
  ...leaseViolations(history),
  ...deliveryViolations(history),
]

export function concurrencySuite(it: StorageTest): void {
  it.for(SEEDS)(
    'G1 to G5 hold for processes that crash, stall and repeat themselves (seed %i)',
    async (seed, { opened: { storage, second = storage } }) => {
      const history = await runWorkload({ storages: [storage, second], seed, rounds: ROUNDS })
      expect(violations(history)).toEqual([])
      expect(history.messagesLeft.length, 'messages').toBeGreaterThan(ROUNDS)
      expect(history.deliveriesLeft.length, 'deliveries').toBeGreaterThan(ROUNDS)
    },
  )
}
