import { isJsonObject, type CustomHeaders, type Webhook, type WebhookSettings } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import { z } from 'zod'
import { located, reply, replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { refuse } from '../errors.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'
import { idIn } from '../path-id.js'
import { readJson, readJsonIfSent } from '../read-json.js'
import { boolean, defined, id, number, pageOf, paging, text } from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import { deliveryBody } from '../wire/delivery.js'
import { pageBody } from '../wire/page.js'
import { webhookBody } from '../wire/webhook.js'
import { deliveryFilter } from './deliveries.js'

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string')
const isTextMap = (value: unknown): boolean => isJsonObject(value) && isTexts(Object.values(value))

const settings = z.object(
  {
    url: text,
    // Which names there are is the service's to say.
    events: z.custom<WebhookSettings['events']>(isTexts, 'must be an array of event names'),
    agentId: id.nullish(),
    description: text.nullish(),
    headers: z.custom<CustomHeaders>(isTextMap, 'must be an object whose values are strings').nullish(),
    enabled: boolean.optional(),
    disableOnGone: boolean.optional(),
  },
  'must be a JSON object',
)
const create = settings.extend({ secret: text.optional() })

const rotate = z.object({ secret: text.optional(), graceMs: number.optional() }, 'must be a JSON object')

const recover = z.object({ ...deliveryFilter, limit: number.default(1_000), cursor: id.optional() }, 'must be a JSON object')

export const webhookRoutes = ({ service, maxBodyBytes }: HttpDeps) => {
  const mayManage = authorize(service, 'project:webhooks')
  const bodyOf = (webhook: Webhook) => webhookBody(webhook, service.now())
  return new Hono<Env>()
    .post('/v1/webhooks', mayManage, readJson(maxBodyBytes), validBody(create), async (c) => {
      const created = await service.webhooks.create({ projectId: c.get('projectId'), ...c.req.valid('json') })
      if (created.isErr()) return refuse(c, created.error)
      const { webhook, secret } = created.value
      return reply(c, 201, { ...bodyOf(webhook), secret }, { Location: located(c, `/v1/webhooks/${webhook.id}`) })
    })

    .get('/v1/webhooks', mayManage, validQuery(z.object(paging)), async (c) => {
      const found = await service.webhooks.list(c.get('projectId'), pageOf(c.req.valid('query')))
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, pageBody(found.value, bodyOf))
    })

    .get('/v1/webhooks/:id', mayManage, async (c) => {
      const found = await service.webhooks.get({ projectId: c.get('projectId'), webhookId: idIn(c.req.param('id')) })
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, bodyOf(found.value))
    })

    .patch('/v1/webhooks/:id', mayManage, readJson(maxBodyBytes), validBody(settings.partial()), async (c) => {
      const change = c.req.valid('json')
      const updated = await service.webhooks.update({ projectId: c.get('projectId'), webhookId: idIn(c.req.param('id')), change })
      return updated.isErr() ? refuse(c, updated.error) : reply(c, 200, bodyOf(updated.value))
    })

    .delete('/v1/webhooks/:id', mayManage, async (c) => {
      const deleted = await service.webhooks.delete({ projectId: c.get('projectId'), webhookId: idIn(c.req.param('id')) })
      return deleted.isErr() ? refuse(c, deleted.error) : replyEmpty(c)
    })

    .post('/v1/webhooks/:id/enable', mayManage, async (c) => {
      const enabled = await service.webhooks.enable({ projectId: c.get('projectId'), webhookId: idIn(c.req.param('id')) })
      return enabled.isErr() ? refuse(c, enabled.error) : reply(c, 200, bodyOf(enabled.value))
    })

    .post('/v1/webhooks/:id/disable', mayManage, async (c) => {
      const disabled = await service.webhooks.disable({ projectId: c.get('projectId'), webhookId: idIn(c.req.param('id')) })
      return disabled.isErr() ? refuse(c, disabled.error) : reply(c, 200, bodyOf(disabled.value))
    })

    .post('/v1/webhooks/:id/test', mayManage, async (c) => {
      const sent = await service.webhooks.sendTestEvent({ projectId: c.get('projectId'), webhookId: idIn(c.req.param('id')) })
      return sent.isErr() ? refuse(c, sent.error) : reply(c, 202, deliveryBody(sent.value))
    })

    .post('/v1/webhooks/:id/rotate-secret', mayManage, readJsonIfSent(maxBodyBytes), validBody(rotate), async (c) => {
      const which = { projectId: c.get('projectId'), webhookId: idIn(c.req.param('id')) }
      const rotated = await service.webhooks.rotateSecret({ ...which, ...c.req.valid('json') })
      if (rotated.isErr()) return refuse(c, rotated.error)
      const { webhook, secret } = rotated.value
      return reply(c, 200, { ...bodyOf(webhook), secret })
    })

    .post('/v1/webhooks/:id/rotate-secret/finish', mayManage, async (c) => {
      const finished = await service.webhooks.finishRotation({ projectId: c.get('projectId'), webhookId: idIn(c.req.param('id')) })
      return finished.isErr() ? refuse(c, finished.error) : reply(c, 200, bodyOf(finished.value))
    })

    .post('/v1/webhooks/:id/recover', mayManage, readJsonIfSent(maxBodyBytes), validBody(recover), async (c) => {
      const { limit, cursor, ...filter } = c.req.valid('json')
      const which = { projectId: c.get('projectId'), webhookId: idIn(c.req.param('id')), filter: defined(filter) }
      const recovered = await service.deliveries.recover({ ...which, page: pageOf({ limit, cursor }) })
      return recovered.isErr() ? refuse(c, recovered.error) : reply(c, 200, recovered.value)
    })
}
