import { Hono } from 'hono'
import type { Webhook } from '@org/agent-messaging-core'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import type { Env } from '../env.js'
import { answer } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { webhookRef, byActor } from '../path-id.js'
import { readJsonIfSent } from '../read-json.js'
import { fieldsOf, nullAsAbsent, number } from '../schemas.js'
import { validBody } from '../validate.js'
import { deliveryBody, deliverySchema } from '../wire/delivery.js'
import {
  createdWebhookBody,
  createdWebhookSchema,
  webhookBody,
  webhookSchema,
} from '../wire/webhook.js'
import { webhookSecret } from './webhooks.js'

const DAY_MS = 24 * 3_600_000

const graceMs = number.optional().meta({
  shown: { type: 'integer', minimum: 0, maximum: 30 * DAY_MS, default: DAY_MS },
  description: 'The time during which the old secret signs too.',
})
const rotation = fieldsOf(nullAsAbsent({ secret: webhookSecret, graceMs })).meta({
  id: 'SecretRotation',
  examples: [{ graceMs: 3_600_000 }],
})

export const webhookActionRoutes = ({ service, maxBodyBytes }: HttpDeps) => {
  const mayManage = authorize(service, 'project:webhooks')
  const { limitOf } = service.webhooks
  const show = (webhook: Webhook) => webhookBody(webhook, service.now(), limitOf(webhook))
  return new Hono<Env>()
    .post('/v1/webhooks/:id/enable', about.enable, mayManage, (c) =>
      answer(c, 200, service.webhooks.enable(byActor(c, webhookRef(c))), show),
    )

    .post('/v1/webhooks/:id/disable', about.disable, mayManage, (c) =>
      answer(c, 200, service.webhooks.disable(byActor(c, webhookRef(c))), show),
    )

    .post('/v1/webhooks/:id/test', about.test, mayManage, (c) =>
      answer(c, 202, service.webhooks.sendTestEvent(webhookRef(c)), deliveryBody),
    )

    .post(
      '/v1/webhooks/:id/rotate-secret',
      about.rotateSecret,
      mayManage,
      readJsonIfSent(maxBodyBytes),
      validBody(rotation),
      (c) => {
        const rotated = service.webhooks.rotateSecret(
          byActor(c, { ...webhookRef(c), ...c.req.valid('json') }),
        )
        return answer(c, 200, rotated, (created) =>
          createdWebhookBody(created, service.now(), limitOf(created.webhook)),
        )
      },
    )

    .post('/v1/webhooks/:id/rotate-secret/finish', about.finishRotation, mayManage, (c) =>
      answer(c, 200, service.webhooks.finishRotation(byActor(c, webhookRef(c))), show),
    )
}

const tag = 'Webhooks'
const changed = { description: 'The webhook after the change', body: webhookSchema }

const about = {
  enable: describeRoute<Service['webhooks']['enable']>({
    tag,
    operationId: 'enableWebhook',
    summary: 'Enable a webhook',
    description: 'Sends the kept deliveries: one first, and the rest after it was accepted.',
    refusals: { webhook_not_found: true },
    answers: { 200: changed },
  }),
  disable: describeRoute<Service['webhooks']['disable']>({
    tag,
    operationId: 'disableWebhook',
    summary: 'Disable a webhook',
    description: 'Sends nothing until you enable the webhook. New deliveries are kept.',
    refusals: { webhook_not_found: true },
    answers: { 200: changed },
  }),
  test: describeRoute<Service['webhooks']['sendTestEvent']>({
    tag,
    operationId: 'sendTestEvent',
    summary: 'Send a webhook.test event to this webhook only',
    refusals: { webhook_not_found: true, webhook_disabled: true },
    answers: { 202: { description: 'The delivery of the event', body: deliverySchema } },
  }),
  rotateSecret: describeRoute<Service['webhooks']['rotateSecret']>({
    tag,
    operationId: 'rotateSecret',
    summary: 'Replace the secret of a webhook',
    refusals: { webhook_not_found: true },
    answers: {
      200: {
        description: 'The webhook. Its new secret is shown only here',
        body: createdWebhookSchema,
      },
    },
  }),
  finishRotation: describeRoute<Service['webhooks']['finishRotation']>({
    tag,
    operationId: 'finishRotation',
    summary: 'Finish a rotation now',
    description: 'The old secret stops signing.',
    refusals: { webhook_not_found: true },
    answers: { 200: changed },
  }),
}
