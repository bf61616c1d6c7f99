import { given } from '@org/agent-messaging-core/runtime'
import {
  recoverySettings,
  shownDelivery,
  shownDeliveryDetail,
  type RecoverySettings,
} from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { requestFields } from '../described.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { byActor, refIn, inProject } from '../path-id.js'
import { routesOf, shown, shownPage } from '../route.js'
import { id, paging, query, storableText } from '../schemas.js'
import {
  deliveryDetailSchema,
  deliverySchema,
  eventTypeSchema,
  statusFilterSchema,
} from '../wire/delivery.js'

const described = requestFields<RecoverySettings>(recoverySettings)
/** The filters of a recovery. */
export const recoveryFilter = {
  ...described,
  event: described.event.meta({ shown: eventTypeSchema }),
  status: described.status.meta({ shown: statusFilterSchema }),
}
const { lastAnswer: _, ...deliveryFilter } = recoveryFilter

const list = query({
  ...paging,
  ...deliveryFilter,
  webhookId: deliveryFilter.webhookId.describe('The webhook of the deliveries.'),
  eventId: storableText.optional().describe('The event of the deliveries.'),
  messageId: id.optional().describe('The message that caused the events.'),
  sessionId: storableText.optional().describe('The session that caused the events.'),
})

export const deliveryRoutes = (d: HttpDeps) => {
  const { deliveries } = d.service
  const route = routesOf(d, { tag: 'Deliveries' })
  const delivery = shown('The delivery', deliverySchema, shownDelivery)
  return new Hono<Env>()
    .get(
      '/v1/deliveries',
      route(
        {
          operationId: 'listDeliveries',
          call: 'deliveries.list',
          summary: 'List deliveries, newest first',
          query: list,
          answer: shownPage(deliverySchema, shownDelivery),
        },
        (c, { limit, cursor, ...filter }) =>
          deliveries.list(inProject(c, { ...given(filter), limit, cursor })),
      ),
    )
    .get(
      '/v1/deliveries/:id',
      route(
        {
          operationId: 'getDelivery',
          call: 'deliveries.get',
          summary: 'Read a delivery with its body and all attempts',
          refusals: ['delivery_not_found'],
          answer: shown('The delivery', deliveryDetailSchema, shownDeliveryDetail),
        },
        (c) => deliveries.get(refIn(c, 'deliveryId')),
      ),
    )
    .post(
      '/v1/deliveries/:id/redeliver',
      route(
        {
          operationId: 'redeliver',
          call: 'deliveries.redeliver',
          summary: 'Send a delivery again now',
          description:
            'A pending delivery gets one extra attempt. A final or blocked one starts a new schedule, ' +
            'out of order.',
          refusals: ['delivery_not_found', 'webhook_not_found', 'delivery_busy'],
          answer: shown('The delivery, due now', deliverySchema, shownDelivery, 202),
        },
        (c) => deliveries.redeliver(byActor(c, refIn(c, 'deliveryId'))),
      ),
    )
    .post(
      '/v1/deliveries/:id/cancel',
      route(
        {
          operationId: 'cancelDelivery',
          call: 'deliveries.cancel',
          summary: 'Cancel a pending delivery',
          refusals: ['delivery_not_found', 'delivery_final'],
          answer: delivery,
        },
        (c) => deliveries.cancel(byActor(c, refIn(c, 'deliveryId'))),
      ),
    )
    .post(
      '/v1/deliveries/:id/skip',
      route(
        {
          operationId: 'skipDelivery',
          call: 'deliveries.skip',
          summary: 'Skip a pending delivery that blocks its session',
          description: 'Cancels the delivery. The next one of its session is due now.',
          refusals: ['delivery_not_found', 'delivery_final'],
          answer: delivery,
        },
        (c) => deliveries.skip(byActor(c, refIn(c, 'deliveryId'))),
      ),
    )
}
