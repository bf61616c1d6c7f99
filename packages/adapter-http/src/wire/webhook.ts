import type { WebhookSettings } from '@org/agent-messaging-core'
import { webhookSettings, type CircuitState } from '@org/agent-messaging-core/host'
import type { DisabledReason } from '@org/agent-messaging-core/storage'
import { z } from 'zod'
import { answerFields } from '../described.js'
import { at, count, uuid, named } from './body.js'
import { lastFailureSchema } from './delivery.js'
import { webhookFilterSchema } from './webhook-filter.js'

const disabledReasons = ['operator', 'failing', 'gone'] as const satisfies readonly DisabledReason[]
const circuits = ['closed', 'open', 'half_open'] as const satisfies readonly CircuitState[]

const described = answerFields<WebhookSettings>(webhookSettings)

export const webhookSchema = named('Webhook', {
  id: uuid,
  ...described,
  filter: webhookFilterSchema.optional().meta({ ...described.filter.meta() }),
  headers: z
    .record(z.string(), named('SecretMark', { set: z.literal(true) }))
    .optional()
    .describe('Custom headers. Their values are secret.'),
  disabledReason: z
    .enum(disabledReasons)
    .optional()
    .describe('Present with `disabledAt` if the webhook is disabled.'),
  disabledAt: at.optional(),
  consecutiveFailures: count,
  failingSince: at.optional().describe('The time of the first failure after the last success.'),
  lastSuccessAt: at.optional().describe('Accurate to about ten seconds.'),
  lastFailureAt: at.optional(),
  lastFailure: lastFailureSchema
    .optional()
    .describe('The newest failed attempt that is stored. Only `GET` returns it.'),
  circuit: z
    .enum(circuits)
    .describe(
      '`open`: nothing is sent for a while. `half_open`: one delivery at a time is sent as a ' +
        'probe.',
    ),
  circuitOpenUntil: at.optional(),
  limit: z
    .object({
      concurrency: z.number().describe('Requests at a time.'),
      requestsPerSecond: z.number().optional(),
      reason: z.enum(['growing', 'refusals', 'slots', 'setting', 'circuit']),
    })
    .optional()
    .meta({
      id: 'WebhookLimit',
      description:
        'The most that the process that answers sends to the webhook now, and why. Other ' +
        'processes have other limits.',
    }),
  previousSecretUntil: at
    .optional()
    .describe('The end of the rotation. Until then the old secret signs too.'),
  createdAt: at,
  updatedAt: at,
})

export const createdWebhookSchema = webhookSchema
  .extend({
    secret: z.string().describe('Signs the deliveries. Shown only in this answer.'),
  })
  .meta({ id: 'CreatedWebhook' })
