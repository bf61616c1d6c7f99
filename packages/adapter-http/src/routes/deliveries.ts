import { EVENT_NAMES, type DeliveryStatus } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import { z } from 'zod'
import { reply } from '../answer.js'
import { authorize } from '../authorize.js'
import { refuse } from '../errors.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'
import { idIn } from '../path-id.js'
import { id, oneOf, pageOf, paging } from '../schemas.js'
import { validQuery } from '../validate.js'
import { deliveryBody, deliveryDetailBody } from '../wire/delivery.js'
import { pageBody } from '../wire/page.js'

const statuses = ['pending', 'delivered', 'exhausted', 'cancelled'] as const satisfies readonly DeliveryStatus[]

const list = z.object({
  ...paging,
  webhookId: id.optional(),
  event: oneOf(EVENT_NAMES).optional(),
  status: oneOf(statuses).optional(),
})

export const deliveryRoutes = ({ service }: HttpDeps) =>
  new Hono<Env>()
    .get('/v1/deliveries', authorize(service, 'project:webhooks'), validQuery(list), async (c) => {
      const { webhookId, event, status, ...page } = c.req.valid('query')
      const filter = {
        projectId: c.get('projectId'),
        ...(webhookId !== undefined && { webhookId }),
        ...(event && { event }),
        ...(status && { status }),
      }
      const found = await service.deliveries.list(filter, pageOf(page))
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, pageBody(found.value, deliveryBody))
    })

    .get('/v1/deliveries/:id', authorize(service, 'project:webhooks'), async (c) => {
      const found = await service.deliveries.get(c.get('projectId'), idIn(c.req.param('id')))
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, deliveryDetailBody(found.value))
    })
