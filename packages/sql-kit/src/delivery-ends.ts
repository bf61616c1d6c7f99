import type { Instant } from '@org/agent-messaging-core'
import {
  WAITING,
  type DeliveryStore,
  type OperatorReason,
  type SenderLease,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import { findDelivery, type DeliveryRef } from './delivery-lists.js'
import { atMost, type Dialect } from './dialect.js'
import { all, one, run, sql, type Operation, type Runner } from './operation.js'

/** The order key is null if the delivery has none, or waits. */
export type OpenDelivery = { readonly seq: number; readonly orderKey: string | null }
type Claimed = { readonly receiverSeq: number; readonly dueAt: Instant }
export type Sending = Claimed & { readonly isSending: boolean | number }
type Released = Claimed & { readonly seq: number; readonly isProbe: boolean | number }
type Seqs = { readonly seqs: readonly number[] }
type Now = { readonly now: Instant }
type Limited = { readonly limit: number }
type OfWebhook = { readonly webhookSeq: number }
type Held = OfWebhook & Limited & { readonly before: Instant }

/** Columns of a delivery `d` that is about to end. */
export const openList = `
  d.seq, case when d.due_at <> ${WAITING} then d.order_key end as "orderKey"`
export const claimList = ({ isSending }: Dialect): string => `
  d.receiver_seq as "receiverSeq", d.due_at as "dueAt", ${isSending} as "isSending"`

const openByRef = sql<DeliveryRef, OpenDelivery & Sending>(
  (d) => `
    select ${openList}, ${claimList(d)} from ${d.schema}deliveries d
    where d.id = @deliveryId and d.project_id = @projectId and d.due_at is not null
    ${d.lock('update')}`,
)
const orphans = sql<Limited, OpenDelivery>(
  ({ schema, join, is, lock }) => `
    select ${openList} from ${schema}webhooks w
      ${join} ${schema}deliveries d on d.receiver_seq = w.seq
    where ${is('w.is_deleted')} and d.due_at is not null
    ${atMost('@limit')} ${lock('update of d skip locked')}`,
)
/** PostgreSQL takes the bound of `atMost` as an integer of four bytes. */
const MOST_ROWS = 2 ** 31 - 1
/** The condition with `or` lets the planner use the index `webhooks_unhealthy`. */
const disabled = sql<object, OfWebhook>(
  ({ schema, not }) => `
    select seq as "webhookSeq" from ${schema}webhooks
    where ${not('is_deleted')} and disabled_at is not null
      and (disabled_at is not null or circuit_until is not null)`,
)
const countOf = (due: string) =>
  sql<OfWebhook & Limited & Now, { readonly count: number }>(
    ({ schema }) => `
      select count(*) as count from (
        select 1 from ${schema}deliveries
        where receiver_seq = @webhookSeq and (attempt_count > 0) in (false, true) and ${due}
        ${atMost('@limit')}) found`,
  )
const countDue = countOf('due_at <= @now')
const countWaiting = countOf(`due_at = ${WAITING}`)
/** PostgreSQL would fold a comparison with a constant into a condition that no index has. */
const heldBy = (hasAttempt: boolean, which: string) =>
  sql<Held, OpenDelivery>(
    ({ schema, lock }) => `
      select ${openList} from ${schema}deliveries d
      where d.receiver_seq = @webhookSeq and (d.attempt_count > 0) = (select ${hasAttempt})
        and ${which} ${atMost('@limit')} ${lock('update skip locked')}`,
  )
const DUE = 'd.due_at < @before order by d.due_at'
/** In the order in which they go. */
const HELD = [
  heldBy(true, DUE),
  heldBy(false, DUE),
  heldBy(false, `d.due_at = ${WAITING} and d.created_at < @before order by d.seq`),
]
const cancel = sql<Seqs & Now & { readonly reason: string }>(
  ({ schema, setState, oneOf }) => `
    update ${schema}deliveries set ${setState('cancelled')}, due_at = null, finished_at = @now,
      cancelled_reason = @reason
    where ${oneOf('seq', 'seqs', 'bigint')}`,
)
const advance = sql<Now & { readonly orderKeys: readonly string[] }>((d) => d.advanceOrders)

/** Skips a claim that has changed, or whose row is locked because it is about to change. */
const held = sql<{ readonly claims: string }, Released>(
  ({ schema, records, join, isSending, lock }) => `
    select d.seq, d.receiver_seq as "receiverSeq", d.due_at as "dueAt", held.probe as "isProbe"
    from ${records('claims', { id: 'text', token: 'bigint', probe: 'boolean' })} held
      ${join} ${schema}deliveries d on d.id = held.id
    where d.lease = held.token and ${isSending} ${lock('update of d skip locked')}`,
)
const makeDue = sql<Seqs & Now>(
  ({ schema, setState, oneOf }) => `
    update ${schema}deliveries set ${setState('pending')}, due_at = @now
    where ${oneOf('seq', 'seqs', 'bigint')}`,
)
const halfOpen = sql<Now & { readonly claims: string }>(
  ({ schema, records, join, lock }) => `
    update ${schema}webhooks set circuit_until = @now where seq in (
      select w.seq from ${records('claims', { webhook: 'bigint', due: 'bigint' })} held
        ${join} ${schema}webhooks w on w.seq = held.webhook and w.circuit_until = held.due
      where w.circuit_until > @now ${lock('no key update of w skip locked')})`,
)

const putSender = sql<SenderLease>(
  ({ schema }) => `
    insert into ${schema}senders (id, until) values (@id, @until)
    on conflict (id) do update set until = excluded.until`,
)
/** Of two processes that register at once, the second one must see the first one. */
const lockSenders = sql(({ schema, onServer }) =>
  onServer(`lock table ${schema}senders in exclusive mode`),
)
const dropSenders = sql<Now>(({ schema }) => `delete from ${schema}senders where until <= @now`)
const senders = sql<object, { readonly id: string }>(
  ({ schema }) => `select id from ${schema}senders order by id`,
)

/**
 * Makes circuits half-open that these locked claims hold open as probes: a probe holds its circuit
 * to the end of its lease. Call it before the deliveries change. Skips a locked webhook until the
 * lease ends, because its transaction can be waiting for one of the deliveries.
 */
function* releaseProbes(claims: readonly Claimed[], now: Instant): Operation<void> {
  const rows = claims.map(({ receiverSeq, dueAt }) => ({ webhook: receiverSeq, due: dueAt }))
  if (rows.length > 0) yield* run(halfOpen, { claims: JSON.stringify(rows), now })
}

/** `releaseProbes` for deliveries that are about to end. */
export const releaseSending = (deliveries: readonly Sending[], now: Instant): Operation<void> =>
  releaseProbes(
    deliveries.filter(({ isSending }) => isSending),
    now,
  )

/** Makes the next delivery with the key of each ended one due. */
export function* advanceOrders(ended: readonly OpenDelivery[], now: Instant): Operation<void> {
  const orderKeys = [...new Set(ended.flatMap(({ orderKey }) => orderKey ?? []))]
  if (orderKeys.length > 0) yield* run(advance, { orderKeys, now })
}

function* cancelLocked(
  deliveries: readonly OpenDelivery[],
  reason: string,
  now: Instant,
): Operation<void> {
  const seqs = deliveries.map(({ seq }) => seq)
  if (seqs.length > 0) yield* run(cancel, { seqs, reason, now })
}

/** Cancels a delivery. Returns whether it was open. */
export function* cancelDelivery(
  ref: DeliveryRef,
  reason: OperatorReason,
  now: Instant,
): Operation<boolean> {
  const open = yield* all(openByRef, ref)
  yield* releaseSending(open, now)
  yield* cancelLocked(open, reason, now)
  yield* advanceOrders(open, now)
  return open.length > 0
}

type Ends = 'registerSender' | 'cancel' | 'cancelOrphans' | 'cancelStale' | 'release'

export const deliveryEnds = ({ write }: Runner): Pick<DeliveryStore, Ends> => ({
  registerSender: write(function* (sender) {
    yield* run(lockSenders, {})
    yield* run(putSender, sender)
    yield* run(dropSenders, sender)
    return (yield* all(senders, {})).map(({ id }) => id)
  }),
  cancel: write(function* (projectId, deliveryId, now, audit, reason = 'operator') {
    const ref = { projectId, deliveryId }
    const isCancelled = yield* cancelDelivery(ref, reason, now)
    if (isCancelled) yield* record(audit)
    const delivery = yield* findDelivery(ref)
    return delivery && (isCancelled ? delivery : 'already_final')
  }),
  cancelOrphans: write(function* ({ now, limit }) {
    const ended = yield* all(orphans, { limit })
    yield* cancelLocked(ended, 'webhook_deleted', now)
    yield* advanceOrders(ended, now)
    return ended.length
  }),
  // Reads at most `keep` and `limit` entries of the index of open deliveries for each webhook.
  cancelStale: write(function* ({ now, dueBefore, keep, limit }) {
    const ended: OpenDelivery[] = []
    function* cancelHeld({ webhookSeq }: OfWebhook, before: Instant, most: number) {
      const end = Math.min(limit, ended.length + most)
      for (const statement of HELD) {
        const left = { webhookSeq, before, limit: end - ended.length }
        const open = yield* all(statement, left)
        yield* cancelLocked(open, 'webhook_disabled', now)
        ended.push(...open)
      }
    }
    for (const webhook of yield* all(disabled, {})) {
      yield* cancelHeld(webhook, dueBefore, limit)
      const most = { ...webhook, now, limit: Math.min(keep + limit - ended.length, MOST_ROWS) }
      const due = (yield* one(countDue, most))?.count ?? 0
      const waiting = (yield* one(countWaiting, most))?.count ?? 0
      yield* cancelHeld(webhook, now + 1, Math.max(0, due + waiting - keep))
    }
    yield* advanceOrders(ended, now)
    return ended.length
  }),
  release: write(function* (claims, now) {
    const rows = claims.map(({ deliveryId, token, isProbe }) => {
      return { id: deliveryId, token, probe: isProbe }
    })
    const released = yield* all(held, { claims: JSON.stringify(rows) })
    yield* releaseProbes(
      released.filter(({ isProbe }) => isProbe),
      now,
    )
    const seqs = released.map(({ seq }) => seq)
    return seqs.length === 0 ? 0 : yield* run(makeDue, { seqs, now })
  }),
})
