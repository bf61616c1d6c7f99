import type { CreatedWebhook, WebhookSettings } from '@org/agent-messaging-core'
import {
  given,
  customHeadersSchema,
  isJsonObject,
  type CustomHeaders,
} from '@org/agent-messaging-core/runtime'
import {
  HEADER_LIMITS,
  shownCreatedWebhook,
  shownWebhook,
  webhookSettings,
  type JsonScalar,
  type ReadWebhook,
  type WebhookFilter,
} from '@org/agent-messaging-core/host'
import { chain, reply } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { requestFields } from '../described.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { byActor, locationOf, refIn, inProject } from '../path-id.js'
import { ownAnswers, routesOf, shown, shownPage, withoutBody } from '../route.js'
import { boolean, fieldsOf, id, nullAsAbsent, number, page, text, namedFields } from '../schemas.js'
import { createdWebhookSchema, webhookSchema } from '../wire/webhook.js'
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
    ...nullAsAbsent({
      exists: boolean.optional(),
      prefix: text.optional(),
      min: number.optional(),
      max: number.optional(),
    }),
  },
  'must be an object with path, and with equals, exists, prefix, or min and max',
).transform(({ path, equals, ...sent }) => {
  const others = given(sent)
  // Null is a value of `equals`, except beside another test.
  const isAbsent = equals === undefined || (equals === null && Object.keys(others).length > 0)
  return { path, ...(!isAbsent && { equals }), ...others }
})

const conditions = z.array(condition, 'must be an array of conditions').optional()

// The service checks the sizes, and that a condition has one test.
export const webhookFilter: z.ZodType<WebhookFilter> = fieldsOf(
  nullAsAbsent({
    agentId: id.optional(),
    sessionIdPrefix: text.optional(),
    metadata: conditions,
    data: conditions,
  }),
  'must be an object with agentId, sessionIdPrefix, metadata or data',
).transform((sent) => given(sent) as WebhookFilter)

const described = requestFields<WebhookSettings>(webhookSettings)
const settings = fieldsOf({
  ...described,
  filter: webhookFilter
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

/** The service checks the secret. */
export const secretText = text.meta({ pattern: SECRET })
/** The optional secret of a new webhook or of a rotation. */
export const webhookSecret = secretText
  .optional()
  .describe('`whsec_` and base64 of 24 to 64 bytes. Absent: the service makes one.')
const fields = nullAsAbsent({ ...settings.shape, secret: webhookSecret })
const create = namedFields('NewWebhook', fields, {
  examples: [{ url: 'https://example.com/hooks', events: ['message.responded', 'agent.error'] }],
})
const change = settings.partial().meta({
  id: 'WebhookChange',
  description: 'Absent fields do not change. Null clears a field that can be absent.',
  examples: [{ events: ['*'] }],
})

/** Returns what the routes of webhooks share. The bodies show the webhook as it is now. */
export const webhookRoute = (d: HttpDeps) => {
  const { host } = d.service
  return {
    route: routesOf(d, { tag: 'Webhooks' }),
    bodyOf: (webhook: ReadWebhook) => shownWebhook(webhook, host),
    createdBodyOf: (created: CreatedWebhook) => shownCreatedWebhook(created, host),
  }
}

const created = ownAnswers({
  201: {
    description: 'The webhook. Its secret is shown only here',
    body: createdWebhookSchema,
    headers: ['Location'],
  },
})

export const webhookRoutes = (d: HttpDeps) => {
  const { webhooks } = d.service
  const { route, bodyOf, createdBodyOf } = webhookRoute(d)
  return new Hono<Env>()
    .post(
      '/v1/webhooks',
      route(
        {
          operationId: 'createWebhook',
          call: 'webhooks.create',
          summary: 'Create a webhook',
          body: create,
          refusals: ['project_not_found', 'too_many_webhooks'],
          answer: created,
        },
        (c, sent) =>
          chain(webhooks.create(byActor(c, inProject(c, sent))), (made) => {
            const at = { route: '/v1/webhooks', id: made.webhook.id }
            return reply(c, 201, createdBodyOf(made), locationOf(c, d.basePath, at))
          }),
      ),
    )
    .get(
      '/v1/webhooks',
      route(
        {
          operationId: 'listWebhooks',
          call: 'webhooks.list',
          summary: 'List the webhooks of the project, newest first',
          query: page,
          answer: shownPage(webhookSchema, bodyOf),
        },
        (c, asked) => webhooks.list(inProject(c, asked)),
      ),
    )
    .get(
      '/v1/webhooks/:id',
      route(
        {
          operationId: 'getWebhook',
          call: 'webhooks.get',
          summary: 'Read a webhook and its health',
          refusals: ['webhook_not_found'],
          answer: shown('The webhook', webhookSchema, bodyOf),
        },
        (c) => webhooks.get(refIn(c, 'webhookId')),
      ),
    )
    .patch(
      '/v1/webhooks/:id',
      route(
        {
          operationId: 'updateWebhook',
          call: 'webhooks.update',
          summary: 'Change a webhook',
          body: change,
          refusals: ['webhook_not_found'],
          answer: shown('The webhook after the change', webhookSchema, bodyOf),
        },
        (c, sent) => webhooks.update(byActor(c, { ...refIn(c, 'webhookId'), change: sent })),
      ),
    )
    .delete(
      '/v1/webhooks/:id',
      route(
        {
          operationId: 'deleteWebhook',
          call: 'webhooks.delete',
          summary: 'Delete a webhook and cancel its pending deliveries',
          refusals: ['webhook_not_found'],
          answer: withoutBody('The webhook is deleted'),
        },
        (c) => webhooks.delete(byActor(c, refIn(c, 'webhookId'))),
      ),
    )
}
