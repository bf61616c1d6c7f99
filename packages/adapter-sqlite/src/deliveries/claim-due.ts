import type { Database } from 'better-sqlite3'
import type { Instant } from '@org/agent-messaging-core'
import {
  ClaimBudget,
  claimedDelivery,
  leaseEnd,
  toTrace,
  type ClaimDue,
  type ClaimedDeliveries,
  type ClaimedDelivery,
  type ClaimedDeliveryRow,
  type WebhookEvent,
} from '@org/agent-messaging-core/storage'
import { atMost } from '../database/statements.js'
import type { WebhookRows } from '../webhooks/receivers.js'

/**
 * Webhooks that one call visits at most. Bounds a call when a project's share holds back thousands
 * of webhooks.
 */
const MOST_WEBHOOKS = 1_000

/**
 * Finds the next webhook that accepts deliveries and has a due one. A step from webhook to webhook
 * costs a microsecond.
 */
export const nextWebhookSql = `
  with recursive queues (seq) as (
    select min(receiver_seq) from deliveries where due_at is not null and receiver_seq > @after
    union all
    select (select min(receiver_seq) from deliveries where due_at is not null and receiver_seq > queues.seq) from queues where seq is not null)
  select w.seq, w.id, w.project_id as projectId, w.circuit_until is not null as isHalfOpen from queues cross join webhooks w on w.seq = queues.seq
  where w.is_deleted = 0 and w.disabled_at is null and w.paused = 0 and (w.circuit_until is null or w.circuit_until <= @now) and (
    exists (select 1 from deliveries where receiver_seq = w.seq and (attempt_count > 0) = 0 and due_at <= @now) or
    exists (select 1 from deliveries where receiver_seq = w.seq and (attempt_count > 0) = 1 and due_at <= @now))
  limit 1`
/** Finds the due first attempts (0) or retries (1) of one webhook. */
export const dueSql = `
  select seq, due_at as dueAt from deliveries where receiver_seq = ? and (attempt_count > 0) = ? and due_at <= ? order by due_at ${atMost('?')}`

type DueWebhook = {
  readonly seq: number
  readonly id: string
  readonly projectId: string
  readonly isHalfOpen: 0 | 1
}
type Due = { readonly seq: number; readonly dueAt: number }
type ClaimedRow = ClaimedDeliveryRow & { readonly webhookSeq: number; readonly eventSeq: number }
type Event = Pick<WebhookEvent, 'id' | 'name' | 'body' | 'trace'>
type EventRow = Omit<Event, 'trace'> & { readonly trace: string | null }

/** Events by their `seq`. */
type Events = Map<number, Event>

/**
 * `DeliveryStore.claimDue`, in a transaction. A call visits the webhooks with open deliveries in a
 * circle, and starts where the last call ended. A step to the next webhook descends an index a few
 * times, however many deliveries wait. A call reads of each webhook only the deliveries that it can
 * claim.
 */
export function dueClaims(
  db: Database,
  webhooks: WebhookRows,
): (query: ClaimDue) => ClaimedDeliveries {
  const nextWebhook = db.prepare<{ after: number; now: number }, DueWebhook>(nextWebhookSql)
  const due = db.prepare<[number, 0 | 1, number, number], Due>(dueSql)
  const setCircuit = db.prepare<[number, number]>(
    'update webhooks set circuit_until = ? where seq = ?',
  )
  const claimRows = rowClaims(db, webhooks)
  let lastServed = 0

  /** Yields each due webhook once, and starts after the last one served. */
  function* dueWebhooks(now: number): Generator<DueWebhook> {
    const from = lastServed
    const next = (after: number) => nextWebhook.get({ after, now })
    for (let one = next(from); one; one = next(one.seq)) yield one
    for (let one = next(0); one && one.seq <= from; one = next(one.seq)) yield one
  }

  function holdCircuit(webhookSeq: number, until: number): void {
    setCircuit.run(until, webhookSeq)
    webhooks.changed()
  }

  function claimOf(
    { seq, projectId, ...webhook }: DueWebhook,
    query: ClaimDue,
    budget: ClaimBudget,
    events: Events,
  ): ClaimedDelivery[] {
    const candidate = { id: webhook.id, projectId, isHalfOpen: webhook.isHalfOpen === 1 }
    const room = budget.roomFor(candidate)
    if (room === 0) return []
    const firsts = due.all(seq, 0, query.now, room)
    const retries = due.all(seq, 1, query.now, budget.retriesAmong(room))
    const { deliveries } = budget.take(candidate, firsts, retries)
    if (deliveries.length === 0) return []
    const until = leaseEnd(query, webhooks.bySeq(seq))
    if (candidate.isHalfOpen) holdCircuit(seq, until)
    const seqs = deliveries.map((delivery) => delivery.seq)
    return claimRows(seqs, seq, until, events)
  }

  return (query) => {
    const budget = new ClaimBudget(query)
    const claimed: ClaimedDelivery[] = []
    const events: Events = new Map()
    let visited = 0
    for (const webhook of dueWebhooks(query.now)) {
      if (budget.left === 0 || visited++ === MOST_WEBHOOKS) break
      lastServed = webhook.seq
      if (!query.except.has(webhook.id) && !query.except.has(webhook.projectId))
        claimed.push(...claimOf(webhook, query, budget, events))
    }
    return { deliveries: claimed, skipped: budget.filled }
  }
}

/** Claims due deliveries of one receiver. `events` caches events, which many webhooks share. */
function rowClaims(
  db: Database,
  webhooks: WebhookRows,
): (
  seqs: readonly number[],
  receiverSeq: number,
  until: Instant,
  events: Events,
) => ClaimedDelivery[] {
  const claim = db.prepare<[Instant, number]>(
    'update deliveries set is_claimed = 1, due_at = ?, lease = lease + 1 where seq = ?',
  )
  const rowOf = db.prepare<[number], ClaimedRow>(`
    select id, webhook_seq as webhookSeq, event_seq as eventSeq, attempt_count as attemptCount, step, resume_at as resumeAt, lease, order_key as orderKey, body, created_at as createdAt
    from deliveries where seq = ?`)
  const read = db.prepare<[number], EventRow>(
    'select id, name, body, trace from events where seq = ?',
  )

  function eventOf(seq: number, events: Events): Event {
    const known = events.get(seq)
    if (known) return known
    const { trace, ...row } = read.get(seq) as EventRow
    const event = { ...row, ...toTrace(trace) }
    events.set(seq, event)
    return event
  }

  return (seqs, receiverSeq, until, events) =>
    seqs.flatMap((seq) => {
      claim.run(until, seq)
      const row = rowOf.get(seq) as ClaimedRow
      const { webhookSeq } = row
      const webhook =
        webhookSeq === receiverSeq
          ? webhooks.bySeq(webhookSeq)
          : webhooks.hookBySeq(webhookSeq, receiverSeq)
      // The sweep ends the deliveries of deleted hooks.
      if (!webhook) return []
      return claimedDelivery(row, eventOf(row.eventSeq, events), webhook, until)
    })
}
