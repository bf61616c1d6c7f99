import type { Database } from 'better-sqlite3'
import { WAITING, type Instant } from '@org/agent-messaging-core/storage'

/** A delivery that is not open any more. */
export type EndedDelivery = { readonly orderKey: string | null }

/** Finds the first open delivery with an order key. The index ends with `seq`. */
const firstOfOrderSql = (orderKey: string): string =>
  `select seq from deliveries where order_key = ${orderKey} and due_at is not null order by seq limit 1`

/** The deliveries that wait for another one with their order key. Call it in a transaction. */
export class DeliveryOrders {
  readonly #hasOpen: (orderKey: string) => boolean
  readonly #makeFirstDue: (orderKey: string, now: Instant) => boolean

  constructor(db: Database) {
    const first = db.prepare<[string], number>(firstOfOrderSql('?')).pluck()
    const makeDue = db.prepare<{ orderKey: string; now: Instant }>(
      `update deliveries set due_at = @now where seq = (${firstOfOrderSql('@orderKey')}) and due_at = ${WAITING}`,
    )
    this.#hasOpen = (orderKey) => first.get(orderKey) !== undefined
    this.#makeFirstDue = (orderKey, now) => makeDue.run({ orderKey, now }).changes > 0
  }

  /** Returns whether a new delivery with this key waits. */
  hasOpen(orderKey: string): boolean {
    return this.#hasOpen(orderKey)
  }

  /**
   * Makes the first open delivery with the key of each ended one due. Returns whether one of them
   * was waiting.
   */
  advance(ended: readonly EndedDelivery[], now: Instant): boolean {
    const keys = new Set(ended.map(({ orderKey }) => orderKey))
    keys.delete(null)
    let isAnyDue = false
    for (const orderKey of keys)
      if (orderKey !== null && this.#makeFirstDue(orderKey, now)) isAnyDue = true
    return isAnyDue
  }
}
