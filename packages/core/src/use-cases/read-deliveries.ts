import { ok, type ResultAsync } from 'neverthrow'
import type { WebhookDelivery } from '../domain/delivery.js'
import { fail } from '../domain/fail.js'
import type { DeliveryDetail, DeliveryFilter } from '../ports/delivery-store.js'
import type { Page, PageOf, Stored, Unavailable } from '../ports/storage.js'
import type { Deps } from './deps.js'

/** One delivery with its body and every attempt. */
export const getDelivery =
  (d: Pick<Deps, 'storage'>) =>
  (projectId: string, deliveryId: string): ResultAsync<DeliveryDetail, Unavailable | { readonly kind: 'delivery_not_found' }> =>
    d.storage.deliveries.get(projectId, deliveryId).andThen((found) => (found ? ok(found) : fail('delivery_not_found')))

/** Newest first. */
export const listDeliveries =
  (d: Pick<Deps, 'storage'>) =>
  (filter: DeliveryFilter, page: PageOf): Stored<Page<WebhookDelivery>> =>
    d.storage.deliveries.list(filter, page)
