import type { DeliveryPurge, Instant, Purge } from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/database.js'
import { lockLogs, raiseFloorsSql } from '../events/event-log.js'
import { renewLast } from '../messages/sessions.js'
import { sql } from '../database/sql.js'

type Seqs = { readonly seqs: readonly number[] }
type RemovedDelivery = {
  readonly seq: number
  readonly projectId: string
  readonly eventSeq: number
}
type FinishedMessage = { readonly seq: number; readonly sessionSeq: number }

export const finishedDeliveriesSql = sql<Purge, RemovedDelivery>(`
  select seq, project_id as "projectId", event_seq as "eventSeq" from agent_messaging.deliveries
  where finished_at < @finishedBefore order by finished_at limit @limit for update skip locked`)
/**
 * Of two transactions that delete the last deliveries of an event, the second deletes the event.
 */
const lockEventsSql = sql<Seqs>(
  'select 1 from agent_messaging.events where seq = any(@seqs::bigint[]) order by seq for update',
)
const deleteAttemptsSql = sql<Seqs>(
  'delete from agent_messaging.attempts where delivery_seq = any(@seqs::bigint[])',
)
const deleteDeliveriesSql = sql<Seqs>(
  'delete from agent_messaging.deliveries where seq = any(@seqs::bigint[])',
)
const without = `
  e.seq = any(@seqs::bigint[])
    and not exists (select 1 from agent_messaging.deliveries d where d.event_seq = e.seq)`
const deleted = `
  delete from agent_messaging.events e where ${without} and e.created_at < @eventsBefore
  returning e.project_id, e.position`
const purgeEventsSql = raiseFloorsSql<Seqs & { readonly eventsBefore: Instant }>(deleted)
const eraseEventsSql = sql<Seqs & { readonly eventsBefore: Instant }>(deleted)
const keepEventsSql = sql<Seqs>(
  `update agent_messaging.events e set has_deliveries = false where ${without}`,
)

/** `DeliveryStore.purge`, within a transaction. */
export async function purgeDeliveries(
  db: Queries,
  { eventsBefore = Number.MAX_SAFE_INTEGER, ...purge }: DeliveryPurge,
): Promise<number> {
  const rows = await db.all(finishedDeliveriesSql, purge)
  await removeDeliveries(db, rows, eventsBefore)
  return rows.length
}

/**
 * Deletes locked deliveries with their attempts. Deletes an event with the last of its deliveries,
 * if the event was created before `eventsBefore`.
 */
export async function removeDeliveries(
  db: Queries,
  rows: readonly RemovedDelivery[],
  eventsBefore: Instant,
): Promise<void> {
  await remove(db, rows)
  const seqs = rows.map(({ eventSeq }) => eventSeq)
  await db.one(purgeEventsSql, { seqs, eventsBefore })
  await db.run(keepEventsSql, { seqs })
}

/** Deletes locked deliveries with their attempts, and each event that has no delivery left. */
export async function eraseDeliveries(
  db: Queries,
  rows: readonly RemovedDelivery[],
): Promise<void> {
  await remove(db, rows)
  const seqs = rows.map(({ eventSeq }) => eventSeq)
  await db.run(eraseEventsSql, { seqs, eventsBefore: Number.MAX_SAFE_INTEGER })
}

async function remove(db: Queries, rows: readonly RemovedDelivery[]): Promise<void> {
  const deliveries = { seqs: rows.map(({ seq }) => seq) }
  const events = { seqs: rows.map(({ eventSeq }) => eventSeq) }
  await lockLogs(
    db,
    rows.map(({ projectId }) => projectId),
  )
  await db.run(lockEventsSql, events)
  await db.run(deleteAttemptsSql, deliveries)
  await db.run(deleteDeliveriesSql, deliveries)
}

export const finishedMessagesSql = sql<Purge, FinishedMessage>(`
  select m.seq, s.seq as "sessionSeq"
  from agent_messaging.messages m join agent_messaging.sessions s on s.seq = m.session_seq
  where m.finished_at < @finishedBefore
  order by m.finished_at limit @limit for update of s skip locked`)
/** Checks again that messages are final. A retry can have changed one before the session lock. */
const deleteMessagesSql = sql<Seqs & { readonly finishedBefore: Instant }>(`
  delete from agent_messaging.messages
  where seq = any(@seqs::bigint[]) and finished_at < @finishedBefore`)
const deleteSessionsSql = sql<Seqs>(`
  delete from agent_messaging.sessions s where s.seq = any(@seqs::bigint[]) and s.due_at is null
    and not exists (select 1 from agent_messaging.messages m where m.session_seq = s.seq)`)

/** `MessageStore.purge`, within a transaction. Skips locked sessions until the next purge. */
export async function purgeMessages(db: Queries, purge: Purge): Promise<number> {
  const rows = await db.all(finishedMessagesSql, purge)
  const deleted = await db.run(deleteMessagesSql, {
    seqs: rows.map(({ seq }) => seq),
    finishedBefore: purge.finishedBefore,
  })
  const sessions = rows.map(({ sessionSeq }) => sessionSeq)
  await db.run(deleteSessionsSql, { seqs: sessions })
  await renewLast(db, sessions)
  return deleted
}
