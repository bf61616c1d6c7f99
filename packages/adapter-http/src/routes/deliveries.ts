import { given } from '@org/agent-messaging-core/runtime'
import { Hono, type Context } from 'hono'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { answer } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { idIn, byActor } from '../path-id.js'
import { id, instant, oneOf, pageOf, paging, query, storableText } from '../schemas.js'
import { validQuery } from '../validate.js'
import {
  deliveryBody,
  deliveryDetailBody,
  deliveryDetailSchema,
  deliverySchema,
  deliveryStatuses,
  deliveryStatusSchema,
  eventNames,
  eventTypeSchema,
} from '../wire/delivery.js'
import { pageBody, pageSchema } from '../wire/page.js'

/** The filters of a list and of a recovery. */
export const deliveryFilter = {
  event: oneOf(eventNames)
    .meta({ shown: eventTypeSchema })
    .optional()
    .meta({ description: 'The name of the event.' }),
  status: oneOf(deliveryStatuses)
    .meta({ shown: deliveryStatusSchema })
    .optional()
    .meta({ description: 'The status of the delivery.' }),
  createdAfter: instant.optional().meta({ description: 'Inclusive.' }),
  createdBefore: instant.optional().meta({ description: 'Exclusive.' }),
}

const list = query({
  ...paging,
  webhookId: id.optional().meta({ description: 'The webhook of the deliveries.' }),
  messageId: id.optional().meta({ description: 'The message that caused the events.' }),
  sessionId: storableText.optional().meta({ description: 'The session that caused the events.' }),
  ...deliveryFilter,
})

export const deliveryRoutes = ({ service }: HttpDeps) => {
  const mayManage = authorize(service, 'project:webhooks')
  return new Hono<Env>()
    .get('/v1/deliveries', about.list, mayManage, validQuery(list), (c) => {
      const { limit, cursor, ...filter } = c.req.valid('query')
      const found = service.deliveries.list(
        { projectId: c.get('projectId'), ...given(filter) },
        pageOf({ limit, cursor }),
      )
      return answer(c, 200, found, pageBody(deliveryBody))
    })

    .get('/v1/deliveries/:id', about.get, mayManage, (c) =>
      answer(c, 200, service.deliveries.get(refOf(c)), deliveryDetailBody),
    )

    .post('/v1/deliveries/:id/redeliver', about.redeliver, mayManage, (c) =>
      answer(c, 202, service.deliveries.redeliver(byActor(c, refOf(c))), deliveryBody),
    )

    .post('/v1/deliveries/:id/cancel', about.cancel, mayManage, (c) =>
      answer(c, 200, service.deliveries.cancel(byActor(c, refOf(c))), deliveryBody),
    )

    .post('/v1/deliveries/:id/skip', about.skip, mayManage, (c) =>
      answer(c, 200, service.deliveries.skip(byActor(c, refOf(c))), deliveryBody),
    )
}

const refOf = (c: Context<Env, '/v1/deliveries/:id'>) => ({
  projectId: c.get('projectId'),
  deliveryId: idIn(c.req.param('id')),
})

const tag = 'Deliveries'

const about = {
  list: describeRoute<Service['deliveries']['list']>({
    tag,
    operationId: 'listDeliveries',
    summary: 'List deliveries, newest first',
    answers: { 200: { description: 'One page', body: pageSchema(deliverySchema) } },
  }),
  get: describeRoute<Service['deliveries']['get']>({
    tag,
    operationId: 'getDelivery',
    summary: 'Read a delivery with its body and all attempts',
    refusals: { delivery_not_found: true },
    answers: { 200: { description: 'The delivery', body: deliveryDetailSchema } },
  }),
  redeliver: describeRoute<Service['deliveries']['redeliver']>({
    tag,
    operationId: 'redeliver',
    summary: 'Send a delivery again now',
    description:
      'A pending delivery gets one extra attempt. A final or blocked one starts a new schedule, ' +
      'out of order.',
    refusals: { delivery_not_found: true, webhook_not_found: true, delivery_busy: true },
    answers: { 202: { description: 'The delivery, due now', body: deliverySchema } },
  }),
  cancel: describeRoute<Service['deliveries']['cancel']>({
    tag,
    operationId: 'cancelDelivery',
    summary: 'Cancel a pending delivery',
    refusals: { delivery_not_found: true, delivery_final: true },
    answers: { 200: { description: 'The delivery', body: deliverySchema } },
  }),
  skip: describeRoute<Service['deliveries']['skip']>({
    tag,
    operationId: 'skipDelivery',
    summary: 'Skip a pending delivery that blocks its session',
    description: 'Cancels the delivery. The next one of its session is due now.',
    refusals: { delivery_not_found: true, delivery_final: true },
    answers: { 200: { description: 'The delivery', body: deliverySchema } },
  }),
}
