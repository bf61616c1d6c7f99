import type { Instant } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

/** A delivery that a statement ended. `orderKey` is null if the delivery has none, or waited. */
export type Ended = { readonly orderKey: string | null }

const advanceSql = sql<{ readonly orderKeys: readonly string[]; readonly now: Instant }>(
  'select agent_messaging.advance_orders(@orderKeys, @now)',
)

/** Selects the first open delivery with an order key. Its subject is the delivery `d`. */
export const firstOfOrder = (column: string): string => `(
  select first.${column} from agent_messaging.deliveries first
  where first.order_key = d.order_key and first.finished_at is null order by first.seq limit 1)`

/** Makes the next delivery with the key of each ended one due, in the transaction that ended it. */
export async function advanceOrders(
  db: Queries,
  ended: readonly Ended[],
  now: Instant,
): Promise<void> {
  const keys = new Set(ended.flatMap(({ orderKey }) => orderKey ?? []))
  if (keys.size > 0) await db.run(advanceSql, { orderKeys: [...keys], now })
}
