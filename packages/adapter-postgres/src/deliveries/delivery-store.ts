import {
  toAttempt,
  toDelivery,
  type AttemptRow,
  type DeliveriesOfMessages,
  type DeliveryDetail,
  type DeliveryRow,
  type DeliveryRowWithBody,
  type DeliveryStore,
  type SenderLease,
} from '@org/agent-messaging-core/storage'
import {
  deliveryByRef,
  deliveryEnds,
  deliveryList,
  deliveryLists,
  deliveryRemovals,
  fromDeliveries,
  type DeliveryRef,
} from '@org/agent-messaging-sql-kit'
import { attemptActivity } from '../messages/activity.js'
import { DueClaims } from './claim-due.js'
import type { Database, Queries } from '../database/database.js'
import { publishTo } from '../events/fan-out.js'
import { attemptRecorder } from './record-attempt.js'
import { dialect, runnerOf } from '../database/operations.js'
import { sql } from '../database/sql.js'

const list = deliveryList(dialect)
const from = fromDeliveries(dialect)
const ONE = `${from} where d.id = @deliveryId and d.project_id = @projectId`
const oneSql = sql<DeliveryRef, DeliveryRow>(deliveryByRef(dialect))
/** The attempts and their delivery come from one snapshot, because one statement reads both. */
const detailSql = sql<
  DeliveryRef,
  DeliveryRowWithBody & { readonly attempts: readonly AttemptRow[] }
>(`
  select ${list}, e.body, coalesce((
    select json_agg(json_build_object('attemptNumber', t.attempt_number,
      'startedAt', t.started_at, 'durationMs', t.duration_ms, 'url', t.url, 'outcome', t.outcome,
      'headerNames', n.names, 'headerValues', t.header_values) order by t.attempt_number)
    from agent_messaging.attempts t
      left join agent_messaging.header_names n on n.seq = t.header_names_seq
    where t.delivery_seq = d.seq), '[]') as attempts
  ${ONE}`)
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
const putSenderSql = sql<SenderLease>(`
  insert into agent_messaging.senders (id, until) values (@id, @until)
  on conflict (id) do update set until = excluded.until`)
/** Of two processes that register at once, the second one must see the first one. */
const lockSendersSql = sql('lock table agent_messaging.senders in exclusive mode')
const dropSendersSql = sql<SenderLease>('delete from agent_messaging.senders where until <= @now')
const sendersSql = sql<object, { readonly id: string }>(
  'select id from agent_messaging.senders order by id',
)

export function deliveryStore(database: Database): DeliveryStore {
  const { read, write, call } = database
  const runner = runnerOf(database)
  const dueClaims = new DueClaims()
  return {
    ...deliveryLists(runner),
    ...deliveryEnds(runner),
    ...deliveryRemovals(runner),
    claimDue: (query) => call((db) => dueClaims.claim(db, query)),
    registerSender: (sender) =>
      write(async (db) => {
        await db.run(lockSendersSql, {})
        await db.run(putSenderSql, sender)
        await db.run(dropSendersSql, sender)
        return (await db.all(sendersSql, {})).map(({ id }) => id)
      }),
    recordAttempts: attemptRecorder(database),
    publishTo: (webhookId, event, deliveryId) =>
      write(async (db) => {
        const isThere = await publishTo(db, webhookId, event, deliveryId)
        const row = isThere
          ? await db.one(oneSql, {
              deliveryId,
              projectId: event.projectId,
            })
          : undefined
        return row && toDelivery(row)
      }),
    get: (projectId, deliveryId) => read((db) => getDetail(db, { projectId, deliveryId })),
    ofMessages: (query) =>
      read(async (db) =>
        (await db.all(ofMessagesSql, query)).map((row) => ({
          messageId: row.messageId,
          delivery: toDelivery(row),
        })),
      ),
    activity: (query) => read((db) => attemptActivity(db, query)),
  }
}

async function getDetail(db: Queries, ref: DeliveryRef): Promise<DeliveryDetail | undefined> {
  const row = await db.one(detailSql, ref)
  return row && { delivery: toDelivery(row), body: row.body, attempts: row.attempts.map(toAttempt) }
}
