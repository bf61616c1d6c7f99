import { EVENT_NAMES, type DeliveryStatus } from '@org/agent-messaging-core'
import { Hono, type Context } from 'hono'
import { z } from 'zod'
import { reply } from '../answer.js'
import { authorize } from '../authorize.js'
import { refuse } from '../errors.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'
import { idIn } from '../path-id.js'
import { defined, id, instant, oneOf, pageOf, paging } from '../schemas.js'
import { validQuery } from '../validate.js'
import { deliveryBody, deliveryDetailBody } from '../wire/delivery.js'
import { pageBody } from '../wire/page.js'

const statuses = ['pending', 'delivered', 'exhausted', 'cancelled'] as const satisfies readonly DeliveryStatus[]

/** What deliveries can be filtered by, in a list and in a recovery. */
export const deliveryFilter = {
  event: oneOf([...EVENT_NAMES, 'webhook.test']).optional(),
  status: oneOf(statuses).optional(),
  createdAfter: instant.optional(),
  createdBefore: instant.optional(),
}

const list = z.object({ ...paging, webhookId: id.optional(), ...deliveryFilter })

export const deliveryRoutes = ({ service }: HttpDeps) =>
  new Hono<Env>()
    .get('/v1/deliveries', authorize(service, 'project:webhooks'), validQuery(list), async (c) => {
      const { limit, cursor, ...filter } = c.req.valid('query')
      const found = await service.deliveries.list({ projectId: c.get('projectId'), ...defined(filter) }, pageOf({ limit, cursor }))
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, pageBody(found.value, deliveryBody))
    })

    .get('/v1/deliveries/:id', authorize(service, 'project:webhooks'), async (c) => {
      const found = await service.deliveries.get(refOf(c))
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, deliveryDetailBody(found.value))
    })

    .post('/v1/deliveries/:id/redeliver', authorize(service, 'project:webhooks'), async (c) => {
      const redelivered = await service.deliveries.redeliver(refOf(c))
      return redelivered.isErr() ? refuse(c, redelivered.error) : reply(c, 202, deliveryBody(redelivered.value))
    })

    .post('/v1/deliveries/:id/cancel', authorize(service, 'project:webhooks'), async (c) => {
      const cancelled = await service.deliveries.cancel(refOf(c))
      return cancelled.isErr() ? refuse(c, cancelled.error) : reply(c, 200, deliveryBody(cancelled.value))
    })

const refOf = (c: Context<Env, '/v1/deliveries/:id'>) => ({ projectId: c.get('projectId'), deliveryId: idIn(c.req.param('id')) })
