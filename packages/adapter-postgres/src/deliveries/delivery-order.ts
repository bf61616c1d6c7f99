import type { Instant } from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/database.js'
import { sql } from '../database/sql.js'

/** A delivery that a statement ended. `orderKey` is null if the delivery has none, or waited. */
export type Ended = { readonly orderKey: string | null }

const advanceSql = sql<{ readonly orderKeys: readonly string[]; readonly now: Instant }>(
  'select agent_messaging.advance_orders(@orderKeys, @now)',
)

/** Makes the next delivery with the key of each ended one due, in the transaction that ended it. */
export async function advanceOrders(
  db: Queries,
  ended: readonly Ended[],
  now: Instant,
): Promise<void> {
  const keys = new Set(ended.flatMap(({ orderKey }) => orderKey ?? []))
  if (keys.size > 0) await db.run(advanceSql, { orderKeys: [...keys], now })
}
