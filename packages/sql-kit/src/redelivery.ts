import type { AuditEntry, Instant, WebhookDelivery } from '@org/agent-messaging-core'
import {
  decideRedelivery,
  heldByProbe,
  keepsOrder,
  newClaimedDelivery,
  ownBody,
  newTestClaim,
  toWebhook,
  tryPage,
  type ClaimedDeliveries,
  type DeliveryState,
  type DeliveryStore,
  type Outgoing,
  type PageOf,
  type RedeliverFilter,
  type Redelivered,
  type WebhookEvent,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import { deliveryBacklog, deliveryBacklogs } from './backlogs.js'
import { countOpen, deliveryDetail, lastFailures, listDeliveries } from './delivery-lists.js'
import type { Dialect } from './dialect.js'
import { all, one, run, sql, type Operation, type Runner } from './operation.js'
import { selectWebhook } from './webhook-rows.js'

type Ids = { readonly ids: readonly string[] }
type Circuits = Ids & { readonly now: Instant }
const receiversOf = sql<Ids, { readonly id: string }>(
  ({ schema, oneOf }) => `
    select coalesce(receiver, id) as id from ${schema}webhooks where ${oneOf('id', 'ids')}`,
)

const lockCircuits = sql<Circuits>(
  ({ schema, oneOf, lock }) => `
    select 1 from ${schema}webhooks where ${oneOf('id', 'ids')} and circuit_until > @now
    ${lock('no key update', 'seq')}`,
)
/** Lets open circuits be probed now, like `readyToProbe` in core. */
const readyToProbe = sql<Circuits>(
  ({ schema, oneOf }) => `
    update ${schema}webhooks set circuit_until = @now
    where ${oneOf('id', 'ids')} and circuit_until > @now`,
)
const makeDue = sql<{ readonly changes: string }>(
  ({ schema, setState, records }) => `
    update ${schema}deliveries as d
    set ${setState('pending')}, step = next.step, due_at = next.due_at, resume_at = next.resume_at,
      recovery_seq = case when next.leaves then next.recovery_seq else d.recovery_seq end,
      recovery_attempts = case when not next.leaves then d.recovery_attempts
        when next.recovery_seq is not null then d.attempt_count end,
      finished_at = null, cancelled_reason = null,
      order_key = case when next.keeps_order then d.order_key end
    from ${records('changes', {
      id: 'text',
      step: 'integer',
      due_at: 'bigint',
      resume_at: 'bigint',
      keeps_order: 'boolean',
      leaves: 'boolean',
      recovery_seq: 'bigint',
    })} as next where d.id = next.id`,
)

function* makeReadyToProbe(webhookIds: readonly string[], now: Instant): Operation<void> {
  const receivers = yield* all(receiversOf, { ids: webhookIds })
  const circuits = { ids: [...new Set(receivers.map(({ id }) => id))], now }
  if ((yield* run(lockCircuits, circuits)) > 0) yield* run(readyToProbe, circuits)
}

const ofProject = sql<{ readonly webhookId: string; readonly projectId: string }, WebhookRow>(
  (d) => `
    ${selectWebhook(d)} where w.id = @webhookId and w.project_id = @projectId
      and ${d.not('w.is_deleted')} and w.message_id is null ${d.lock('no key update')}`,
)
const holdCircuit = sql<{ readonly seq: number; readonly until: Instant }>(
  ({ schema }) => `
    update ${schema}webhooks set circuit_until = @until
    where seq = @seq and circuit_until is not null`,
)

type Tested = {
  readonly seq: number
  readonly body: string | undefined
  readonly until?: Instant
  readonly claims: ClaimedDeliveries
}

/**
 * Returns the webhook of a test event, and the claim of its delivery. A claimed delivery holds an
 * open circuit. Otherwise the circuit becomes half-open.
 */
export function* testedWebhook(
  webhookId: string,
  event: WebhookEvent,
  deliveryId: string,
  claim: Outgoing['claim'],
): Operation<Tested | undefined> {
  const row = yield* one(ofProject, { webhookId, projectId: event.projectId })
  if (!row) return undefined
  const { seq } = row
  const webhook = toWebhook(row)
  const body = ownBody(webhook, event)
  const { until, skipped } = newTestClaim(webhook, claim)
  if (until === undefined) {
    yield* makeReadyToProbe([webhookId], event.createdAt)
    return {
      seq,
      body,
      claims: { deliveries: [], skipped: skipped === undefined ? [] : [skipped] },
    }
  }
  yield* run(holdCircuit, { seq, until })
  const held = { ...webhook, health: heldByProbe(webhook.health, until) }
  const deliveries = [newClaimedDelivery(deliveryId, event, held, until)]
  return { seq, body, until, claims: { deliveries, skipped: [] } }
}

/**
 * Lets recoveries keep the count of deliveries `d` that leave them. A new row waits for no page of
 * the recovery.
 */
const leave = <P extends object>(which: (d: Dialect) => string) =>
  sql<P>(
    (d) => `
      insert into ${d.schema}recovery_leavers (recovery_seq, state, finished_at)
      select d.recovery_seq, case when d.finished_at is null then 'cancelled' else d.state end,
        d.finished_at
      from ${d.schema}deliveries d ${d.join} ${d.schema}recoveries r on r.seq = d.recovery_seq
      where ${which(d)} and r.delivered is null`,
  )
const leaveByIds = leave<Ids>((d) => d.oneOf('d.id', 'ids'))
/** Deliveries that have ended, of recoveries that send. So a recovery that is done stays done. */
const ended = sql<Ids, { readonly id: string }>(
  (d) => `
    select d.id from ${d.schema}deliveries d
      ${d.join} ${d.schema}recoveries r on r.seq = d.recovery_seq
    where ${d.oneOf('d.id', 'ids')} and d.finished_at is not null and r.state = 'sending'`,
)
export const leaveDeleted = leave<{ readonly seqs: readonly number[] }>((d) =>
  d.oneOf('d.seq', 'seqs', 'bigint'),
)

type Counting = {
  readonly seq: number
  /** Redelivers only the first match that is neither due nor being sent, and ends the page there. */
  readonly isTry: boolean
}

/**
 * `DeliveryStore.redeliver`. A recovery counts the deliveries from then on. Without one, those that
 * have ended leave their recovery.
 */
export function* redeliver(
  filter: RedeliverFilter,
  page: PageOf,
  now: Instant,
  audit?: AuditEntry,
  recovery?: Counting,
): Operation<Redelivered> {
  const found = yield* listDeliveries({ ...filter, lock: true }, page)
  const decide = (state: DeliveryState) =>
    decideRedelivery(state, now, filter.deliveryId !== undefined)
  const canTry = ({ state }: WebhookDelivery) => decide(state) !== undefined
  const { data, nextCursor } = recovery?.isTry ? tryPage(found, canTry) : found
  const probed = recovery?.isTry ? data.filter(canTry) : data
  yield* makeReadyToProbe([...new Set(probed.map(({ webhookId }) => webhookId))], now)
  const changed = data.flatMap(({ id, state }) => {
    const next = decide(state)
    if (!next) return []
    const { step, nextAttemptAt, resumeAt } = next
    const keeps_order = keepsOrder(state)
    const recovery_seq = recovery?.seq
    return [{ id, step, due_at: nextAttemptAt, resume_at: resumeAt, keeps_order, recovery_seq }]
  })
  const ids = changed.map(({ id }) => id)
  const leaving = recovery ? ids : (yield* all(ended, { ids })).map(({ id }) => id)
  if (leaving.length > 0) yield* run(leaveByIds, { ids: leaving })
  const changes = changed.map((one) => ({ ...one, leaves: leaving.includes(one.id) }))
  yield* run(makeDue, { changes: JSON.stringify(changes) })
  if (changed.length > 0) yield* record(audit)
  return { matched: data.length, count: changed.length, nextCursor }
}

export const deliveryLists = ({
  read,
  write,
}: Runner): Pick<
  DeliveryStore,
  'get' | 'list' | 'lastFailures' | 'countOpen' | 'backlog' | 'backlogs' | 'redeliver'
> => ({
  get: read(deliveryDetail),
  list: read((filter, page) => listDeliveries(filter, page)),
  lastFailures: read(lastFailures),
  countOpen: read(countOpen),
  backlog: read(deliveryBacklog),
  backlogs: read(deliveryBacklogs),
  redeliver: write((filter, page, now, audit) => redeliver(filter, page, now, audit)),
})
