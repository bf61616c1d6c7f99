import type { Database } from 'better-sqlite3'
import type { Instant } from '@org/agent-messaging-core'
import { WAITING } from '@org/agent-messaging-core/storage'

/** Finds the first open delivery with an order key. The index ends with `seq`. */
export const firstOfOrderSql = (orderKey: string): string =>
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

  /** Makes the first open delivery with the key due. Returns whether it was waiting. */
  advance(orderKey: string, now: Instant): boolean {
    return this.#makeFirstDue(orderKey, now)
  }
}
