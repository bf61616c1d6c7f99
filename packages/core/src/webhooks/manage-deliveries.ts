import { ok, safeTry, type ResultAsync } from 'neverthrow'
import type { WebhookDelivery } from '../domain/delivery.js'
import { fail } from '../domain/fail.js'
import type { DeliveryDetail, DeliveryFilter, Redelivered } from '../ports/delivery-store.js'
import type { Page, PageOf, Stored, Unavailable } from '../ports/stored.js'
import type { Platform } from '../platform.js'
import type { WebhooksContext } from './context.js'
import { broken, type Invalid } from '../domain/input-rules.js'
import { getWebhook } from './manage-webhooks.js'
import { integerRule } from '../domain/input-rules.js'

export type DeliveryRef = { readonly projectId: string; readonly deliveryId: string }
type NotFound = { readonly kind: 'delivery_not_found' }

/** One delivery with its body and every attempt. */
export const getDelivery =
  (d: Platform) =>
  ({ projectId, deliveryId }: DeliveryRef): ResultAsync<DeliveryDetail, Unavailable | NotFound> =>
    d.storage.deliveries
      .get(projectId, deliveryId)
      .andThen((found) => (found ? ok(found) : fail('delivery_not_found')))

/** Newest first. */
export const listDeliveries =
  (d: Platform) =>
  (filter: DeliveryFilter, page: PageOf): Stored<Page<WebhookDelivery>> =>
    d.storage.deliveries.list(filter, page)

/**
 * Sends it again now; where the webhook's circuit is open, its longest waiting delivery goes first. An open delivery gets one
 * extra attempt, and its schedule stays as it was; a final one starts a fresh schedule. One that is due already, by the end of a
 * lease too, stays as it is; `delivery_busy` while it is being sent.
 */
export const redeliver =
  (d: WebhooksContext) =>
  (
    ref: DeliveryRef,
  ): ResultAsync<
    WebhookDelivery,
    Unavailable | NotFound | { readonly kind: 'delivery_busy' | 'webhook_not_found' }
  > =>
    safeTry(async function* () {
      const { delivery } = yield* getDelivery(d)(ref)
      yield* getWebhook(d)({ projectId: ref.projectId, webhookId: delivery.webhookId })
      const now = d.clock.now()
      if (delivery.state.kind === 'sending' && delivery.state.leaseUntil > now)
        return fail('delivery_busy')
      yield* d.storage.deliveries.redeliver(ref, { limit: 1 }, now)
      d.deliverySender.wake()
      return ok((yield* getDelivery(d)(ref)).delivery)
    })

/** Its next attempt is not made. One that is under way may still arrive, or that another process has claimed and is about to make. */
export const cancelDelivery =
  (d: WebhooksContext) =>
  ({
    projectId,
    deliveryId,
  }: DeliveryRef): ResultAsync<
    WebhookDelivery,
    Unavailable | NotFound | { readonly kind: 'delivery_final' }
  > =>
    d.storage.deliveries.cancel(projectId, deliveryId, d.clock.now()).andThen((cancelled) => {
      if (cancelled === undefined) return fail('delivery_not_found')
      if (cancelled === 'already_final') return fail('delivery_final')
      d.deliverySender.deliveryCancelled(cancelled)
      return ok(cancelled)
    })

export type RecoverInput = {
  readonly projectId: string
  readonly webhookId: string
  /** Exhausted ones unless told otherwise. */
  readonly filter?: Omit<DeliveryFilter, 'projectId' | 'webhookId'>
  /** `limit`: 1 to 1,000 deliveries looked at in this call. */
  readonly page: PageOf
}

const MOST_RECOVERED = 1_000

/** Redelivers what matches, a page at a time: `count` were made due, `nextCursor` goes on. */
export const recoverDeliveries =
  (d: WebhooksContext) =>
  ({
    projectId,
    webhookId,
    filter = {},
    page,
  }: RecoverInput): ResultAsync<
    Redelivered,
    Invalid | Unavailable | { readonly kind: 'webhook_not_found' }
  > =>
    safeTry(async function* () {
      const problem = broken({ limit: integerRule(page.limit, 1, MOST_RECOVERED) })
      if (problem) return problem
      yield* getWebhook(d)({ projectId, webhookId })
      const which = { status: 'exhausted' as const, ...filter, projectId, webhookId }
      const recovered = yield* d.storage.deliveries.redeliver(which, page, d.clock.now())
      d.deliverySender.wake()
      return ok(recovered)
    })
