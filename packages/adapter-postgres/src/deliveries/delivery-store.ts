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
  type Instant,
  type OperatorReason,
  type ReleasedClaim,
  type WebhookDelivery,
} from '@org/agent-messaging-core/storage'
import { deliveryList, deliveryLists, fromDeliveries } from '@org/agent-messaging-sql-kit'
import { attemptActivity } from '../messages/activity.js'
import { recorded } from '../access/recorded.js'
import { cancelStale } from './cancel-stale.js'
import { DueClaims } from './claim-due.js'
import type { Database, Queries } from '../database/database.js'
import { advanceOrders, type Ended } from './delivery-order.js'
import { erasePrincipalDeliveries } from '../maintenance/erase-principal.js'
import { publishTo } from '../events/fan-out.js'
import { releaseProbesSql } from './probe-readiness.js'
import { purgeDeliveries } from '../maintenance/purge.js'
import { attemptRecorder } from './record-attempt.js'
import { cancelDelivery } from './cancel-delivery.js'
import { dialect, runnerOf } from '../database/operations.js'
import { sql } from '../database/sql.js'

type Release = {
  readonly ids: readonly string[]
  readonly tokens: readonly number[]
  readonly now: Instant
}
type Orphans = { readonly now: Instant; readonly limit: number }
type Ref = { readonly projectId: string; readonly deliveryId: string }

const list = deliveryList(dialect)
const from = fromDeliveries(dialect)
const ONE = `${from} where d.id = @deliveryId and d.project_id = @projectId`
const oneSql = sql<Ref, DeliveryRow>(`select ${list} ${ONE}`)
/** The attempts and their delivery come from one snapshot, because one statement reads both. */
const detailSql = sql<Ref, DeliveryRowWithBody & { readonly attempts: readonly AttemptRow[] }>(`
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
/** Locks the deliveries whose claims are valid. A locked delivery is about to change: skips it. */
const HELD = `
  select d.seq, d.webhook_seq, d.due_at
  from unnest(@ids::text[], @tokens::bigint[]) as held (id, token)
    join agent_messaging.deliveries d on d.id = held.id
  where d.lease = held.token and d.state = 'sending' for update of d skip locked`
const releaseSql = sql<Release>(`
  update agent_messaging.deliveries set state = 'pending', due_at = @now
  where seq in (select seq from (${HELD}) held)`)
const releaseProbeClaimsSql = releaseProbesSql<Release>(HELD)
/** `= any(array(…))`: see `cancelStale`. */
const cancelOrphansSql = sql<Orphans, Ended>(`
  update agent_messaging.deliveries set state = 'cancelled', due_at = null, finished_at = @now,
    cancelled_reason = 'webhook_deleted'
  where seq = any(array(
    select d.seq from agent_messaging.webhooks w
      join agent_messaging.deliveries d on d.webhook_seq = w.seq
    where w.is_deleted and d.due_at is not null limit @limit for update of d skip locked))
  returning order_key as "orderKey"`)

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
  const dueClaims = new DueClaims()
  return {
    ...deliveryLists(runnerOf(database)),
    claimDue: (query) => call((db) => dueClaims.claim(db, query)),
    registerSender: (sender) =>
      write(async (db) => {
        await db.run(lockSendersSql, {})
        await db.run(putSenderSql, sender)
        await db.run(dropSendersSql, sender)
        return (await db.all(sendersSql, {})).map(({ id }) => id)
      }),
    recordAttempts: attemptRecorder(database),
    release: (claims, now) =>
      write(async (db) => {
        const probes = claims.filter(({ isProbe }) => isProbe)
        if (probes.length > 0) await db.run(releaseProbeClaimsSql, heldOf(probes, now))
        return db.run(releaseSql, heldOf(claims, now))
      }),
    publishTo: (webhookId, event, deliveryId) =>
      write(async (db) => {
        const isThere = await publishTo(db, webhookId, event, deliveryId)
        const row = isThere
          ? await db.one(oneSql, { deliveryId, projectId: event.projectId })
          : undefined
        return row && toDelivery(row)
      }),
    cancel: (projectId, deliveryId, now, audit, reason = 'operator') =>
      write((db) => recorded(db, audit, end(db, { projectId, deliveryId, now, reason }))),
    get: (projectId, deliveryId) => read((db) => getDetail(db, { projectId, deliveryId })),
    ofMessages: (query) =>
      read(async (db) =>
        (await db.all(ofMessagesSql, query)).map((row) => ({
          messageId: row.messageId,
          delivery: toDelivery(row),
        })),
      ),
    cancelOrphans: (query) => write((db) => cancelOrphans(db, query)),
    cancelStale: (query) => write((db) => cancelStale(db, query)),
    purge: (query) => write((db) => purgeDeliveries(db, query)),
    erasePrincipal: (step) =>
      (step.countOnly ? read : write)(async (db) => {
        const erased = await erasePrincipalDeliveries(db, step)
        if (!step.countOnly) await recorded(db, step.audit, erased.deliveries > 0)
        return erased
      }),
    activity: (query) => read((db) => attemptActivity(db, query)),
  }
}

async function end(
  db: Queries,
  cancellation: Ref & { readonly now: Instant; readonly reason: OperatorReason },
): Promise<WebhookDelivery | 'already_final' | undefined> {
  const done = await cancelDelivery(db, cancellation)
  const row = await db.one(oneSql, cancellation)
  return row && (done ? toDelivery(row) : 'already_final')
}

async function cancelOrphans(db: Queries, query: Orphans): Promise<number> {
  const ended = await db.all(cancelOrphansSql, query)
  await advanceOrders(db, ended, query.now)
  return ended.length
}

async function getDetail(db: Queries, ref: Ref): Promise<DeliveryDetail | undefined> {
  const row = await db.one(detailSql, ref)
  return row && { delivery: toDelivery(row), body: row.body, attempts: row.attempts.map(toAttempt) }
}

const heldOf = (claims: readonly ReleasedClaim[], now: Instant): Release => ({
  ids: claims.map(({ deliveryId }) => deliveryId),
  tokens: claims.map(({ token }) => token),
  now,
})
