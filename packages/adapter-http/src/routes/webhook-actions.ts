import { shownDelivery } from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { byActor, refIn } from '../path-id.js'
import { shown } from '../route.js'
import { number, text, creationOf } from '../schemas.js'
import { deliverySchema } from '../wire/delivery.js'
import { createdWebhookSchema, webhookSchema } from '../wire/webhook.js'
import { webhookRoute, webhookSecret } from './webhooks.js'

const DAY_MS = 24 * 3_600_000

const graceMs = number.optional().meta({
  shown: { type: 'integer', minimum: 0, maximum: 30 * DAY_MS, default: DAY_MS },
  description: 'The time during which the old secret signs too.',
})
const rotation = creationOf(
  'SecretRotation',
  { secret: webhookSecret, graceMs },
  { examples: [{ graceMs: 3_600_000 }] },
)

const testEvent = creationOf(
  'TestEvent',
  {
    event: text
      .optional()
      .describe(
        'The event whose sample is sent, or an event type that has an example. The ids of a sample ' +
          'belong to nothing. Default: `webhook.test`.',
      ),
  },
  { examples: [{ event: 'message.responded' }] },
)

export const webhookActionRoutes = (d: HttpDeps) => {
  const { webhooks } = d.service
  const { route, bodyOf } = webhookRoute(d)
  const afterChange = shown('The webhook after the change', webhookSchema, bodyOf)
  return new Hono<Env>()
    .post(
      '/v1/webhooks/:id/enable',
      route(
        {
          operationId: 'enableWebhook',
          call: 'webhooks.enable',
          summary: 'Enable a webhook',
          description: 'Sends the kept deliveries: one first, and the rest after it was accepted.',
          refusals: ['webhook_not_found'],
          answer: afterChange,
        },
        (c) => webhooks.enable(byActor(c, refIn(c, 'webhookId'))),
      ),
    )
    .post(
      '/v1/webhooks/:id/disable',
      route(
        {
          operationId: 'disableWebhook',
          call: 'webhooks.disable',
          summary: 'Disable a webhook',
          description: 'Sends nothing until you enable the webhook. New deliveries are kept.',
          refusals: ['webhook_not_found'],
          answer: afterChange,
        },
        (c) => webhooks.disable(byActor(c, refIn(c, 'webhookId'))),
      ),
    )
    .post(
      '/v1/webhooks/:id/test',
      route(
        {
          operationId: 'sendTestEvent',
          call: 'webhooks.sendTestEvent',
          summary: 'Send a webhook.test event, or a sample of another event, to this webhook only',
          body: testEvent,
          isBodyOptional: true,
          refusals: ['webhook_not_found', 'webhook_disabled'],
          answer: shown('The delivery of the event', deliverySchema, shownDelivery, 202),
        },
        (c, sent) => webhooks.sendTestEvent({ ...refIn(c, 'webhookId'), ...sent }),
      ),
    )
}

export const rotationRoutes = (d: HttpDeps) => {
  const { webhooks } = d.service
  const { route, bodyOf, createdBodyOf } = webhookRoute(d)
  return new Hono<Env>()
    .post(
      '/v1/webhooks/:id/rotate-secret',
      route(
        {
          operationId: 'rotateSecret',
          call: 'webhooks.rotateSecret',
          summary: 'Replace the secret of a webhook',
          body: rotation,
          isBodyOptional: true,
          refusals: ['webhook_not_found'],
          answer: shown(
            'The webhook. Its new secret is shown only here',
            createdWebhookSchema,
            createdBodyOf,
          ),
        },
        (c, sent) => webhooks.rotateSecret(byActor(c, { ...refIn(c, 'webhookId'), ...sent })),
      ),
    )
    .post(
      '/v1/webhooks/:id/rotate-secret/finish',
      route(
        {
          operationId: 'finishRotation',
          call: 'webhooks.finishRotation',
          summary: 'Finish a rotation now',
          description: 'The old secret stops signing.',
          refusals: ['webhook_not_found'],
          answer: shown('The webhook after the change', webhookSchema, bodyOf),
        },
        (c) => webhooks.finishRotation(byActor(c, refIn(c, 'webhookId'))),
      ),
    )
}
