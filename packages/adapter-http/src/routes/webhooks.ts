import type { JsonScalar, Webhook, WebhookFilter, WebhookSettings } from '@org/agent-messaging-core'
import {
  given,
  customHeadersSchema,
  HEADER_LIMITS,
  isJsonObject,
  webhookSettings,
  type CustomHeaders,
} from '@org/agent-messaging-core/runtime'
import { reply } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { basePathOf, replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { requestFields } from '../described.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import type { Env } from '../env.js'
import { answer, refuse } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { webhookRef, byActor } from '../path-id.js'
import { readJson } from '../read-json.js'
import { boolean, fieldsOf, id, nullAsAbsent, pageOf, paging, query, text } from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import { pageBody, pageSchema } from '../wire/page.js'
import {
  createdWebhookBody,
  createdWebhookSchema,
  subscriptionSchema,
  webhookBody,
  webhookSchema,
} from '../wire/webhook.js'
import { newWebhookFilterSchema } from '../wire/webhook-filter.js'

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((name) => typeof name === 'string')
const isTextMap = (value: unknown): boolean => isJsonObject(value) && isTexts(Object.values(value))

const isScalar = (value: unknown): boolean => value === null || typeof value !== 'object'
const condition = fieldsOf(
  {
    path: text,
    equals: z
      .custom<JsonScalar>(isScalar, 'must be a string, a number, true, false or null')
      .optional(),
    exists: boolean.nullish(),
  },
  'must be an object with path, and with equals or exists',
).transform(withoutAbsentTest)

/** Null is a value of `equals`, except beside `exists`. */
function withoutAbsentTest({ path, equals, exists }: Condition): Condition {
  if (exists === undefined || exists === null)
    return { path, ...(equals !== undefined && { equals }) }
  return { path, exists, ...(equals !== undefined && equals !== null && { equals }) }
}
type Condition = {
  readonly path: string
  readonly equals?: JsonScalar | undefined
  readonly exists?: boolean | null | undefined
}

// The service checks the sizes, and that a condition has one of `equals` and `exists`.
const filter = fieldsOf(
  nullAsAbsent({
    agentId: id.optional(),
    sessionIdPrefix: text.optional(),
    metadata: z.array(condition, 'must be an array of conditions').optional(),
  }),
  'must be an object with agentId, sessionIdPrefix or metadata',
).transform((sent) => given(sent) as WebhookFilter)

const described = requestFields<WebhookSettings>(webhookSettings)
const settings = fieldsOf({
  ...described,
  events: described.events.meta({ shown: subscriptionSchema }),
  filter: filter
    .nullish()
    .meta({ shown: newWebhookFilterSchema.nullish(), ...described.filter.meta() }),
  headers: z
    .custom<CustomHeaders>(isTextMap, 'must be an object whose values are strings')
    .meta({ shown: customHeadersSchema(HEADER_LIMITS) })
    .nullish()
    .meta({ ...described.headers.meta() }),
})

/** Base64 of 24 to 63 bytes, or of 64. */
const SECRET =
  '^whsec_(([A-Za-z0-9+/]{4}){8,20}([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?' +
  '|([A-Za-z0-9+/]{4}){21}([A-Za-z0-9+/]{2}==)?)$'

/** The optional secret of a new webhook or of a rotation. */
export const webhookSecret = text
  .meta({ pattern: SECRET })
  .optional()
  .meta({ description: '`whsec_` and base64 of 24 to 64 bytes. Absent: the service makes one.' })
const fields = nullAsAbsent({ ...settings.shape, secret: webhookSecret })
const create = fieldsOf(fields).meta({
  id: 'NewWebhook',
  examples: [{ url: 'https://example.com/hooks', events: ['message.responded', 'agent.error'] }],
})
const change = settings.partial().meta({
  id: 'WebhookChange',
  description: 'Absent fields do not change. Null clears a field that can be absent.',
  examples: [{ events: ['*'] }],
})

export const webhookRoutes = ({ service, maxBodyBytes, basePath }: HttpDeps) => {
  const mayManage = authorize(service, 'project:webhooks')
  const show = (webhook: Webhook) =>
    webhookBody(webhook, service.now(), service.webhooks.limitOf(webhook))
  return new Hono<Env>()
    .post(
      '/v1/webhooks',
      about.create,
      mayManage,
      readJson(maxBodyBytes),
      validBody(create),
      async (c) => {
        const projectId = c.get('projectId')
        const created = await service.webhooks.create(
          byActor(c, { projectId, ...c.req.valid('json') }),
        )
        if (created.isErr()) return refuse(c, created.error)
        const collection = `${basePathOf(c, { basePath, route: '/v1/webhooks' })}/v1/webhooks`
        return reply(
          c,
          201,
          createdWebhookBody(
            created.value,
            service.now(),
            service.webhooks.limitOf(created.value.webhook),
          ),
          {
            Location: `${collection}/${created.value.webhook.id}`,
          },
        )
      },
    )

    .get('/v1/webhooks', about.list, mayManage, validQuery(query(paging)), (c) => {
      const found = service.webhooks.list(c.get('projectId'), pageOf(c.req.valid('query')))
      return answer(c, 200, found, pageBody(show))
    })

    .get('/v1/webhooks/:id', about.get, mayManage, (c) =>
      answer(c, 200, service.webhooks.get(webhookRef(c)), show),
    )

    .patch(
      '/v1/webhooks/:id',
      about.update,
      mayManage,
      readJson(maxBodyBytes),
      validBody(change),
      (c) => {
        const updated = service.webhooks.update(
          byActor(c, { ...webhookRef(c), change: c.req.valid('json') }),
        )
        return answer(c, 200, updated, show)
      },
    )

    .delete('/v1/webhooks/:id', about.delete, mayManage, async (c) => {
      const deleted = await service.webhooks.delete(byActor(c, webhookRef(c)))
      return deleted.isErr() ? refuse(c, deleted.error) : replyEmpty(c)
    })
}

const tag = 'Webhooks'

const about = {
  create: describeRoute<Service['webhooks']['create']>({
    tag,
    operationId: 'createWebhook',
    summary: 'Create a webhook',
    refusals: { project_not_found: true, too_many_webhooks: true },
    answers: {
      201: {
        description: 'The webhook. Its secret is shown only here',
        body: createdWebhookSchema,
        headers: ['Location'],
      },
    },
  }),
  list: describeRoute<Service['webhooks']['list']>({
    tag,
    operationId: 'listWebhooks',
    summary: 'List the webhooks of the project, newest first',
    answers: { 200: { description: 'One page', body: pageSchema(webhookSchema) } },
  }),
  get: describeRoute<Service['webhooks']['get']>({
    tag,
    operationId: 'getWebhook',
    summary: 'Read a webhook and its health',
    refusals: { webhook_not_found: true },
    answers: { 200: { description: 'The webhook', body: webhookSchema } },
  }),
  update: describeRoute<Service['webhooks']['update']>({
    tag,
    operationId: 'updateWebhook',
    summary: 'Change a webhook',
    refusals: { webhook_not_found: true },
    answers: { 200: { description: 'The webhook after the change', body: webhookSchema } },
  }),
  delete: describeRoute<Service['webhooks']['delete']>({
    tag,
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook and cancel its pending deliveries',
    refusals: { webhook_not_found: true },
    answers: { 204: { description: 'The webhook is deleted' } },
  }),
}
