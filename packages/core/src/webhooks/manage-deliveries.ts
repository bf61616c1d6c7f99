import { ok, safeTry } from 'neverthrow'
import { auditEntry, type AuditEntry, type ByActor } from '../domain/access/audit.js'
import type { OperatorReason, WebhookDelivery } from '../domain/webhooks/delivery.js'
import { withoutInputUrl } from '../domain/values/input-url.js'
import { fail } from '../domain/values/fail.js'
import { ofPage, type PageInput } from '../domain/values/page-rules.js'
import type { DeliveryFilter } from '../ports/delivery-store.js'
import type { Changing, Reading } from '../platform.js'
import type { Needs } from './context.js'
import { chain, existing } from '../pacing/chain.js'

export type DeliveryRef = {
  readonly projectId: string
  /** The id of the delivery, also the receiver's `X-Service-Delivery`. */
  readonly deliveryId: string
} & Pick<DeliveryFilter, 'withoutHooks'>
type DeliveryCall = DeliveryRef & ByActor

export const getDelivery = (d: Reading) => (ref: DeliveryRef) =>
  safeTry(async function* () {
    yield* requireShown(d, ref)
    const { projectId, deliveryId } = ref
    const found = yield* existing(
      d.storage.deliveries.get(projectId, deliveryId),
      'delivery_not_found',
    )
    return ok({ ...found, body: withoutInputUrl(found.body) })
  })

const requireShown = (d: Reading, ref: DeliveryRef) =>
  safeTry(async function* () {
    if (!ref.withoutHooks) return ok(undefined)
    const { data } = yield* chain(d.storage.deliveries.list(ref, { limit: 1 }))
    return data.length > 0 ? ok(undefined) : fail('delivery_not_found')
  })

export type ListDeliveriesInput = DeliveryFilter & PageInput

export const listDeliveries =
  (d: Reading) =>
  ({ limit, cursor, ...filter }: ListDeliveriesInput) =>
    ofPage({ limit, cursor }, (checked) => chain(d.storage.deliveries.list(filter, checked)))

export const redeliver = (d: Changing & Needs<'deliverySender'>) => (ref: DeliveryCall) =>
  safeTry(async function* () {
    const { projectId, deliveryId } = ref
    const { delivery } = yield* getDelivery(d)(ref)
    const now = d.clock.now()
    if (delivery.state.kind === 'sending' && delivery.state.leaseUntil > now)
      return fail('delivery_busy')
    const audit = entryOf(d, ref, 'delivery.redelivered')
    const { matched } = yield* chain(
      d.storage.deliveries.redeliver({ projectId, deliveryId }, { limit: 1 }, now, audit),
    )
    if (matched === 0) return fail('webhook_not_found')
    const redelivered = yield* getDelivery(d)(ref)
    d.deliverySender.wake()
    return ok(redelivered.delivery)
  })

/** The reason is `skipped` if the delivery blocks the others of its session. */
export const cancelDelivery =
  (d: Changing & Needs<'deliverySender'>, reason: OperatorReason) => (ref: DeliveryCall) =>
    requireShown(d, ref)
      .andThen(() => {
        const { projectId, deliveryId } = ref
        const entry = entryOf(d, ref, 'delivery.cancelled')
        return chain(
          d.storage.deliveries.cancel(projectId, deliveryId, d.clock.now(), entry, reason),
        )
      })
      .andThen((cancelled) => ended(d, cancelled))

const entryOf = (
  d: Changing,
  { projectId, deliveryId, actor }: DeliveryCall,
  action: 'delivery.cancelled' | 'delivery.redelivered',
): AuditEntry => auditEntry(d, { projectId, action, targetId: deliveryId, actor })

function ended(
  { deliverySender }: Needs<'deliverySender'>,
  delivery: WebhookDelivery | 'already_final' | undefined,
) {
  if (delivery === undefined) return fail('delivery_not_found')
  if (delivery === 'already_final') return fail('delivery_final')
  deliverySender.deliveryCancelled(delivery)
  if (delivery.orderKey !== undefined) deliverySender.wake()
  return ok(delivery)
}
