import { type Webhook, type WebhookSettings } from '@org/agent-messaging-core'
import { isJsonObject, type CustomHeaders } from '@org/agent-messaging-core/runtime'
import { Hono } from 'hono'
import { z } from 'zod'
import { located, reply, replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { idIn } from '../path-id.js'
import { readJson, readJsonIfSent } from '../read-json.js'
import { boolean, defined, id, number, pageOf, paging, text } from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import { count, type BodyOf } from '../wire/body.js'
import { deliveryBody, deliverySchema } from '../wire/delivery.js'
import { pageBody, pageSchema } from '../wire/page.js'
import {
  createdWebhookSchema,
  subscriptionSchema,
  webhookBody,
  webhookSchema,
} from '../wire/webhook.js'
import { deliveryFilter } from './deliveries.js'

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((name) => typeof name === 'string')
const isTextMap = (value: unknown): boolean => isJsonObject(value) && isTexts(Object.values(value))

const settings = z.object(
  {
    url: text.meta({
      minLength: 1,
      maxLength: 2_048,
      description: 'Where events go.',
      examples: ['https://example.com/hooks'],
    }),
    // Which names there are is the service's to say.
    events: z
      .custom<WebhookSettings['events']>(isTexts, 'must be an array of event names')
      .meta({ shown: subscriptionSchema }),
    agentId: id.nullish().meta({
      description:
        'Only this agent’s events. In a change, null clears it, as it does the next two.',
    }),
    description: text.meta({ minLength: 1, maxLength: 500 }).nullish(),
    headers: z
      .custom<CustomHeaders>(isTextMap, 'must be an object whose values are strings')
      .meta({ shown: { type: 'object', additionalProperties: { type: 'string' } } })
      .nullish()
      .meta({
        description:
          'Sent with each request. The values are secret. To be given anew with a `url` on another origin.',
      }),
    enabled: boolean.optional(),
    disableOnGone: boolean.optional(),
  },
  'must be a JSON object',
)
const secret = text
  .meta({ pattern: '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$' })
  .optional()
  .meta({ description: 'Your own: `whsec_` and base64 of 24 to 64 bytes. Made when absent.' })
const create = settings.extend({ secret }).meta({
  id: 'NewWebhook',
  examples: [{ url: 'https://example.com/hooks', events: ['message.responded', 'agent.error'] }],
})
const change = settings.partial().meta({
  id: 'WebhookChange',
  description: 'What is absent stays as it is.',
  examples: [{ events: ['*'] }],
})

const graceMs = number.optional().meta({
  shown: { type: 'integer', minimum: 0, maximum: 30 * 24 * 3_600_000, default: 24 * 3_600_000 },
  description: 'For so long the old secret signs too.',
})
const rotate = z
  .object({ secret, graceMs }, 'must be a JSON object')
  .meta({ id: 'SecretRotation', examples: [{ graceMs: 3_600_000 }] })

const limit = number
  .default(1_000)
  .meta({ shown: { type: 'integer', minimum: 1, maximum: 1_000, default: 1_000 } })
/** Strict, unlike other bodies: a misspelt filter would have everything sent again. */
const recover = z
  .strictObject(
    { ...deliveryFilter, limit, cursor: id.optional() },
    {
      error: (issue) =>
        issue.code === 'unrecognized_keys'
          ? `has no field ${issue.keys.join(', ')}`
          : 'must be a JSON object',
    },
  )
  .meta({
    id: 'Recovery',
    examples: [{ status: 'exhausted', createdAfter: '2026-11-01T00:00:00Z' }],
  })
const recoveredSchema = z
  .object({ count, nextCursor: z.string().nullable() })
  .meta({ id: 'Recovered' })

export const webhookRoutes = ({ service, maxBodyBytes }: HttpDeps) => {
  const mayManage = authorize(service, 'project:webhooks')
  const bodyOf = (webhook: Webhook) => webhookBody(webhook, service.now())
  const createdBody = (webhook: Webhook, secret: string): BodyOf<typeof createdWebhookSchema> => ({
    ...bodyOf(webhook),
    secret,
  })
  return new Hono<Env>()
    .post(
      '/v1/webhooks',
      about.create,
      mayManage,
      readJson(maxBodyBytes),
      validBody(create),
      async (c) => {
        const created = await service.webhooks.create({
          projectId: c.get('projectId'),
          ...c.req.valid('json'),
        })
        if (created.isErr()) return refuse(c, created.error)
        const { webhook, secret } = created.value
        return reply(c, 201, createdBody(webhook, secret), {
          Location: located(c, `/v1/webhooks/${webhook.id}`),
        })
      },
    )

    .get('/v1/webhooks', about.list, mayManage, validQuery(z.object(paging)), async (c) => {
      const found = await service.webhooks.list(c.get('projectId'), pageOf(c.req.valid('query')))
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, pageBody(found.value, bodyOf))
    })

    .get('/v1/webhooks/:id', about.get, mayManage, async (c) => {
      const found = await service.webhooks.get({
        projectId: c.get('projectId'),
        webhookId: idIn(c.req.param('id')),
      })
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, bodyOf(found.value))
    })

    .patch(
      '/v1/webhooks/:id',
      about.update,
      mayManage,
      readJson(maxBodyBytes),
      validBody(change),
      async (c) => {
        const which = { projectId: c.get('projectId'), webhookId: idIn(c.req.param('id')) }
        const updated = await service.webhooks.update({ ...which, change: c.req.valid('json') })
        return updated.isErr() ? refuse(c, updated.error) : reply(c, 200, bodyOf(updated.value))
      },
    )

    .delete('/v1/webhooks/:id', about.delete, mayManage, async (c) => {
      const deleted = await service.webhooks.delete({
        projectId: c.get('projectId'),
        webhookId: idIn(c.req.param('id')),
      })
      return deleted.isErr() ? refuse(c, deleted.error) : replyEmpty(c)
    })

    .post('/v1/webhooks/:id/enable', about.enable, mayManage, async (c) => {
      const enabled = await service.webhooks.enable({
        projectId: c.get('projectId'),
        webhookId: idIn(c.req.param('id')),
      })
      return enabled.isErr() ? refuse(c, enabled.error) : reply(c, 200, bodyOf(enabled.value))
    })

    .post('/v1/webhooks/:id/disable', about.disable, mayManage, async (c) => {
      const disabled = await service.webhooks.disable({
        projectId: c.get('projectId'),
        webhookId: idIn(c.req.param('id')),
      })
      return disabled.isErr() ? refuse(c, disabled.error) : reply(c, 200, bodyOf(disabled.value))
    })

    .post('/v1/webhooks/:id/test', about.test, mayManage, async (c) => {
      const sent = await service.webhooks.sendTestEvent({
        projectId: c.get('projectId'),
        webhookId: idIn(c.req.param('id')),
      })
      return sent.isErr() ? refuse(c, sent.error) : reply(c, 202, deliveryBody(sent.value))
    })

    .post(
      '/v1/webhooks/:id/rotate-secret',
      about.rotateSecret,
      mayManage,
      readJsonIfSent(maxBodyBytes),
      validBody(rotate),
      async (c) => {
        const which = { projectId: c.get('projectId'), webhookId: idIn(c.req.param('id')) }
        const rotated = await service.webhooks.rotateSecret({ ...which, ...c.req.valid('json') })
        if (rotated.isErr()) return refuse(c, rotated.error)
        const { webhook, secret } = rotated.value
        return reply(c, 200, createdBody(webhook, secret))
      },
    )

    .post('/v1/webhooks/:id/rotate-secret/finish', about.finishRotation, mayManage, async (c) => {
      const finished = await service.webhooks.finishRotation({
        projectId: c.get('projectId'),
        webhookId: idIn(c.req.param('id')),
      })
      return finished.isErr() ? refuse(c, finished.error) : reply(c, 200, bodyOf(finished.value))
    })

    .post(
      '/v1/webhooks/:id/recover',
      about.recover,
      mayManage,
      readJsonIfSent(maxBodyBytes),
      validBody(recover),
      async (c) => {
        const { limit, cursor, ...filter } = c.req.valid('json')
        const which = {
          projectId: c.get('projectId'),
          webhookId: idIn(c.req.param('id')),
          filter: defined(filter),
        }
        const recovered = await service.deliveries.recover({
          ...which,
          page: pageOf({ limit, cursor }),
        })
        if (recovered.isErr()) return refuse(c, recovered.error)
        const body: BodyOf<typeof recoveredSchema> = recovered.value
        return reply(c, 200, body)
      },
    )
}

const tag = 'Webhooks'
const answer = { description: 'The webhook as it is then', body: webhookSchema }
const withSecret = {
  description: 'The webhook with its secret, which is shown this once',
  body: createdWebhookSchema,
}

const about = {
  create: describeRoute<Service['webhooks']['create']>({
    ...{ tag, operationId: 'createWebhook', summary: 'Register a receiver of events' },
    refusals: { too_many_webhooks: true },
    answers: { 201: { ...withSecret, headers: ['Location'] } },
  }),
  list: describeRoute<Service['webhooks']['list']>({
    ...{
      tag,
      operationId: 'listWebhooks',
      summary: 'List the webhooks of the project, newest first',
    },
    answers: { 200: { description: 'One page', body: pageSchema(webhookSchema) } },
  }),
  get: describeRoute<Service['webhooks']['get']>({
    ...{ tag, operationId: 'getWebhook', summary: 'Read a webhook and how it does' },
    refusals: { webhook_not_found: true },
    answers: { 200: { description: 'The webhook', body: webhookSchema } },
  }),
  update: describeRoute<Service['webhooks']['update']>({
    ...{ tag, operationId: 'updateWebhook', summary: 'Change a webhook' },
    refusals: { webhook_not_found: true },
    answers: { 200: answer },
  }),
  delete: describeRoute<Service['webhooks']['delete']>({
    ...{
      tag,
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook, and cancel what it was still to get',
    },
    refusals: { webhook_not_found: true },
    answers: { 204: { description: 'It is gone' } },
  }),
  enable: describeRoute<Service['webhooks']['enable']>({
    ...{
      tag,
      operationId: 'enableWebhook',
      summary: 'Send to a webhook again, and what was kept for it',
    },
    refusals: { webhook_not_found: true },
    answers: { 200: answer },
  }),
  disable: describeRoute<Service['webhooks']['disable']>({
    ...{
      tag,
      operationId: 'disableWebhook',
      summary: 'Send nothing to a webhook, and keep what it would get',
    },
    refusals: { webhook_not_found: true },
    answers: { 200: answer },
  }),
  test: describeRoute<Service['webhooks']['sendTestEvent']>({
    ...{
      tag,
      operationId: 'sendTestEvent',
      summary: 'Send a webhook.test event to this webhook alone',
    },
    refusals: { webhook_not_found: true, webhook_disabled: true },
    answers: { 202: { description: 'Its delivery', body: deliverySchema } },
  }),
  rotateSecret: describeRoute<Service['webhooks']['rotateSecret']>({
    ...{ tag, operationId: 'rotateSecret', summary: 'Replace the secret of a webhook' },
    refusals: { webhook_not_found: true },
    answers: { 200: withSecret },
  }),
  finishRotation: describeRoute<Service['webhooks']['finishRotation']>({
    ...{ tag, operationId: 'finishRotation', summary: 'End the grace of a rotation now' },
    description: 'The old secret signs nothing more.',
    refusals: { webhook_not_found: true },
    answers: { 200: answer },
  }),
  recover: describeRoute<Service['deliveries']['recover']>({
    ...{
      tag,
      operationId: 'recoverDeliveries',
      summary: 'Send again what a webhook missed, a page at a time',
    },
    description:
      'What is exhausted, unless `status` says otherwise; newest first. With `nextCursor` ask again.',
    refusals: { webhook_not_found: true },
    answers: { 200: { description: 'How many, and where to go on', body: recoveredSchema } },
  }),
}
