import {
  endUserMark,
  isForEndUser,
  type ErasedDeliveries,
  type ErasedMessages,
  type MessageErasure,
  type PrincipalStep,
} from '@org/agent-messaging-core/storage'
import {
  advance,
  advanceOrders,
  claimList,
  lockSessionsOf,
  openList,
  releaseSending,
  skip,
} from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/database.js'
import { dialect, perform } from '../database/operations.js'
import { eraseDeliveries } from './purge.js'
import { forget } from '../messages/sessions.js'
import { sql } from '../database/sql.js'

/** A step looks at the rows behind `after` up to `last`. */
type Bounds = { readonly last: number; readonly mark: string }
type Skipped = { readonly skipped: number }

type Seq = { readonly seq: number }
type MessageRow = Seq & {
  readonly sessionSeq: number
  readonly position: number
  readonly headPosition: number
  readonly isOpen: boolean
}
type DeliveryRow = Seq & {
  readonly projectId: string
  readonly eventSeq: number
  readonly body: string
  readonly orderKey: string | null
  readonly webhookSeq: number
  readonly dueAt: number
  readonly isSending: boolean
}

const lastMessageSql = sql<MessageErasure & Skipped, Seq>(`
  select seq from agent_messaging.messages where agent_id = @agentId and seq > @after
  order by seq limit 1 offset @skipped`)
export const principalMessagesSql = sql<MessageErasure & Bounds, { readonly id: string }>(`
  select m.id
  from agent_messaging.messages m join agent_messaging.sessions s on s.seq = m.session_seq
    join agent_messaging.agents a on a.id = s.agent_id
  where m.agent_id = @agentId and m.seq > @after and m.seq <= @last and a.project_id = @projectId
    and position(@mark in m.principal) > 0`)
const foundSql = sql<{ readonly ids: readonly string[] }, MessageRow>(`
  select m.seq, m.session_seq as "sessionSeq", m.position, s.head_position as "headPosition",
    m.finished_at is null as "isOpen"
  from agent_messaging.messages m join agent_messaging.sessions s on s.seq = m.session_seq
    join agent_messaging.agents a on a.id = s.agent_id
  where m.id = any(@ids::text[])`)
/** A step locks all its sessions at once, and must not hold them while it waits for one of them. */
const shortLockTimeoutSql = sql("set local lock_timeout = '1s'")
const removeSql = sql<Seq>('delete from agent_messaging.messages where seq = @seq')

/**
 * `MessageStore.erasePrincipal`, within a transaction that runs again after a held lock. Leaves
 * messages of erased sessions to the sweep.
 */
export async function erasePrincipalMessages(
  db: Queries,
  step: MessageErasure,
): Promise<ErasedMessages> {
  const next = (await db.one(lastMessageSql, { ...step, skipped: step.limit - 1 }))?.seq
  const bounds = { mark: endUserMark(step.endUserId), last: next ?? Number.MAX_SAFE_INTEGER }
  const ids = (await db.all(principalMessagesSql, { ...step, ...bounds })).map(({ id }) => id)
  if (!step.countOnly) {
    await db.run(shortLockTimeoutSql, {})
    await perform(db, lockSessionsOf, ...ids)
  }
  const rows = await db.all(foundSql, { ids })
  const erased = step.force ? rows : rows.filter(({ isOpen }) => !isOpen)
  if (!step.countOnly) {
    // The head goes last, so that a message that is about to go does not become the head.
    for (const row of erased.toSorted((a, b) => b.position - a.position))
      await erase(db, row, step.now)
    for (const sessionSeq of new Set(erased.map((row) => row.sessionSeq)))
      await forget(db, sessionSeq)
  }
  return {
    messages: erased.length,
    openMessages: rows.length - erased.length,
    ...(next !== undefined && { next }),
  }
}

async function erase(
  db: Queries,
  { seq, sessionSeq, position, headPosition, isOpen }: MessageRow,
  now: number,
): Promise<void> {
  await db.run(removeSql, { seq })
  if (isOpen && position === headPosition) await perform(db, advance, sessionSeq, now)
  else if (isOpen) await perform(db, skip, sessionSeq)
}

const lastDeliverySql = sql<PrincipalStep & Skipped, Seq>(`
  select seq from agent_messaging.deliveries where project_id = @projectId and seq > @after
  order by seq limit 1 offset @skipped`)
const marked = `
  select ${openList}, ${claimList(dialect)}, d.project_id as "projectId", d.event_seq as "eventSeq",
    e.body
  from agent_messaging.deliveries d join agent_messaging.events e on e.seq = d.event_seq
  where d.project_id = @projectId and d.seq > @after and d.seq <= @last
    and position(@mark in e.body) > 0`
export const principalDeliveriesSql = sql<PrincipalStep & Bounds, DeliveryRow>(marked)
/** Locks in the order in which `record_attempts` locks. */
const lockedSql = sql<PrincipalStep & Bounds, DeliveryRow>(
  `${marked} order by d.seq desc for update of d`,
)
/** `DeliveryStore.erasePrincipal`, within a transaction. */
export async function erasePrincipalDeliveries(
  db: Queries,
  step: PrincipalStep,
): Promise<ErasedDeliveries> {
  const next = (await db.one(lastDeliverySql, { ...step, skipped: step.limit - 1 }))?.seq
  const bounds = { mark: endUserMark(step.endUserId), last: next ?? Number.MAX_SAFE_INTEGER }
  const rows = await db.all(step.countOnly ? principalDeliveriesSql : lockedSql, {
    ...step,
    ...bounds,
  })
  const erased = rows.filter(({ body }) => isForEndUser(body, step.endUserId))
  if (!step.countOnly) {
    await perform(db, releaseSending, erased, step.now)
    await eraseDeliveries(db, erased)
    await perform(db, advanceOrders, erased, step.now)
  }
  return { deliveries: erased.length, ...(next !== undefined && { next }) }
}
