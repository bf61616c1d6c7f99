import type { Instant, Webhook } from '@org/agent-messaging-core'
import {
  afterAttemptColumns,
  attemptCounts,
  changeWebhook,
  headerLines,
  onlySuccess,
  toWebhook,
  webhookColumns,
  type AttemptRecord,
  type DeliveryAttempt,
  type DeliveryStatus,
  type RecordedAttempt,
  type WebhookColumns,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import { selectWebhook, updateWebhook } from '@org/agent-messaging-sql-kit'
import type { Database } from 'better-sqlite3'
import { dialect } from '../database/operations.js'
import type { FanOut } from '../events/fan-out.js'
import type { CountEntries } from '../messages/counts.js'
import type { WebhookRows } from '../webhooks/receivers.js'
import { DeliveryOrders } from './delivery-order.js'

type Claim = {
  readonly seq: number
  readonly webhookSeq: number
  readonly receiverSeq: number
  readonly state: DeliveryStatus
  readonly isClaimed: 0 | 1
  readonly lease: number
  readonly attemptCount: number
  readonly orderKey: string | null
}
type InsertedColumns = [
  deliverySeq: number,
  attemptNumber: number,
  startedAt: number,
  durationMs: number,
  url: string | null,
  outcome: string,
  headerNamesSeq: number | null,
  headerValues: string | null,
  failedWebhookSeq: number | null,
]
type UpdatedColumns = [
  state: string,
  step: number | null,
  dueAt: number | null,
  finishedAt: number | null,
  attemptNumber: number,
  deliverySeq: number,
]

type Parts = {
  readonly fanOut: FanOut
  readonly webhooks: WebhookRows
  readonly counts: CountEntries
}

/** One record of `DeliveryStore.recordAttempts`, in a transaction. */
export function attemptRecords(
  db: Database,
  { fanOut, webhooks, counts }: Parts,
): (record: AttemptRecord) => RecordedAttempt {
  const updateHealth = healthUpdates(db, fanOut, webhooks)
  const claimOf = db.prepare<[string], Claim>(
    'select seq, webhook_seq as webhookSeq, receiver_seq as receiverSeq, state, is_claimed as isClaimed, lease, attempt_count as attemptCount, order_key as orderKey from deliveries where id = ?',
  )
  const columnsOfHeaders = headerWriter(db)
  const orders = new DeliveryOrders(db)
  // The driver binds values by place faster than by name.
  const insert = db.prepare<InsertedColumns>(`
    insert into attempts (delivery_seq, attempt_number, started_at, duration_ms, url, outcome, header_names_seq, header_values, failed_webhook_seq)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const update = db.prepare<UpdatedColumns>(`
    update deliveries set state = ?, is_claimed = 0, step = coalesce(?, step), due_at = ?, resume_at = null, finished_at = ?, attempt_count = ?
    where seq = ?`)

  return (record) => {
    const claim = claimOf.get(record.deliveryId)
    if (!claim || !isHeld(claim, record)) return { kind: 'lease_lost' }
    const { startedAt, durationMs, url = null } = record.attempt
    const outcome = JSON.stringify(record.attempt.outcome)
    const attemptNumber = claim.attemptCount + 1
    const { headerNamesSeq, headerValues } = columnsOfHeaders(record.attempt.requestHeaders)
    const { step, dueAt, finishedAt } = afterAttemptColumns(record.state)
    insert.run(
      claim.seq,
      attemptNumber,
      startedAt,
      durationMs,
      url,
      outcome,
      headerNamesSeq,
      headerValues,
      record.attempt.outcome.kind === 'accepted' ? null : claim.webhookSeq,
    )
    update.run(record.state.kind, step, dueAt, finishedAt, attemptNumber, claim.seq)
    const nextIsDue =
      finishedAt !== null && claim.orderKey !== null && orders.advance(claim.orderKey, finishedAt)
    counts.add(record.count)
    counts.add(record.endCount)
    if (record.outgoing) fanOut(record.outgoing)
    const webhook = record.decideHealth && updateHealth(claim.receiverSeq, record.decideHealth)
    return { kind: 'recorded', ...(nextIsDue && { nextIsDue }), ...(webhook && { webhook }) }
  }
}

const isHeld = ({ state, isClaimed, lease }: Claim, { token, attempt }: AttemptRecord): boolean =>
  attemptCounts(
    { isOpen: state === 'pending', isClaimed: isClaimed === 1, lease },
    token,
    attempt.outcome.kind,
  )

type DecideHealth = NonNullable<AttemptRecord['decideHealth']>
type Changed = { readonly before: Webhook; readonly after: Webhook }

/** Updates the webhook's health after an attempt, in the same transaction. */
function healthUpdates(
  db: Database,
  fanOut: FanOut,
  webhooks: WebhookRows,
): (webhookSeq: number, decide: DecideHealth) => Changed | undefined {
  const webhookOf = db.prepare<[number], WebhookRow>(
    `${selectWebhook(dialect)} where w.seq = ? and w.is_deleted = 0`,
  )
  const update = db.prepare<[WebhookColumns]>(updateWebhook(dialect))
  // The cache of webhooks keeps the earlier time. The delivery sender knows the later one.
  const refresh = db.prepare<[Instant, number]>(
    'update webhooks set last_success_at = ? where seq = ?',
  )

  return (webhookSeq, decide) => {
    const row = webhookOf.get(webhookSeq)
    const before = row && toWebhook(row)
    const decision = before && decide(before)
    if (!decision) return undefined
    const at = onlySuccess(before, decision)
    if (at !== undefined && before.health.lastSuccessAt !== undefined) {
      refresh.run(at, webhookSeq)
      return undefined
    }
    const after = changeWebhook(before, decision.change)
    update.run(webhookColumns(after))
    webhooks.changed()
    if (decision.outgoing) fanOut(decision.outgoing)
    return { before, after }
  }
}

type Headers = DeliveryAttempt['requestHeaders']
type HeaderColumns = {
  readonly headerNamesSeq: number | null
  readonly headerValues: string | null
}

/**
 * Returns the columns of an attempt's headers, in a transaction. Attempts with the same names share
 * one row of names.
 */
function headerWriter(db: Database): (headers: Headers) => HeaderColumns {
  const add = db.prepare<[string]>('insert into header_names (names) values (?)')
  const seqOf = db.prepare<[string], number>('select seq from header_names where names = ?').pluck()
  return (headers) => {
    if (!headers) return { headerNamesSeq: null, headerValues: null }
    const { names, values } = headerLines(headers)
    const known = seqOf.get(names)
    return {
      headerNamesSeq: known ?? Number(add.run(names).lastInsertRowid),
      headerValues: values,
    }
  }
}
