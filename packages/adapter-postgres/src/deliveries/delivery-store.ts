import {
  toDelivery,
  type DeliveriesOfMessages,
  type DeliveryRow,
  type DeliveryStore,
} from '@org/agent-messaging-core/storage'
import {
  deliveryEnds,
  deliveryList,
  deliveryLists,
  deliveryRemovals,
  findDelivery,
  fromDeliveries,
} from '@org/agent-messaging-sql-kit'
import { DueClaims } from './claim-due.js'
import type { Gateway } from '../database/gateway.js'
import { publishTo } from '../events/fan-out.js'
import { attemptRecorder } from './record-attempt.js'
import { dialect, perform, runnerOf } from '../database/operations.js'
import { sql } from '../database/sql.js'

const list = deliveryList(dialect)
const from = fromDeliveries(dialect)
/** `DeliveryStore.ofMessages`. */
const ofMessagesSql = sql<DeliveriesOfMessages, DeliveryRow & { readonly messageId: string }>(
  `select found.*, given.message_id as "messageId"
  from unnest(@messageIds::text[]) with ordinality as given (message_id, place)
    cross join lateral (
      select ${list} ${from}
      where e.has_deliveries and e.message_id = given.message_id and e.project_id = @projectId
      order by e.seq desc, d.seq desc limit @limit) found
  order by given.place`,
)
export function deliveryStore(gateway: Gateway): DeliveryStore {
  const { read, write, call } = gateway
  const runner = runnerOf(gateway)
  const dueClaims = new DueClaims()
  return {
    ...deliveryLists(runner),
    ...deliveryEnds(runner),
    ...deliveryRemovals(runner),
    claimDue: (query) => call((db) => dueClaims.claim(db, query)),
    recordAttempts: attemptRecorder(gateway),
    publishTo: (webhookId, event, deliveryId, claim) =>
      write(async (db) => {
        const claims = await publishTo(db, webhookId, event, deliveryId, claim)
        const { projectId } = event
        const delivery = claims && (await perform(db, findDelivery, { projectId, deliveryId }))
        return delivery && { delivery, claims }
      }),
    ofMessages: (query) =>
      read(async (db) =>
        (await db.all(ofMessagesSql, query)).map((row) => ({
          messageId: row.messageId,
          delivery: toDelivery(row),
        })),
      ),
  }
}
