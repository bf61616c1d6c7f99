import {
  circuitAt,
  EVENT_NAMES,
  type CircuitState,
  type Instant,
  type Webhook,
} from '@org/agent-messaging-core'
import { toIso, type DisabledReason } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { at, count, uuid, type BodyOf } from './body.js'

const disabledReasons = ['operator', 'failing', 'gone'] as const satisfies readonly DisabledReason[]
const circuits = ['closed', 'open', 'half_open'] as const satisfies readonly CircuitState[]

/** What a webhook can be subscribed to; `*` is all, those of later versions too. */
export const subscriptionSchema = z
  .array(z.enum(['*', ...EVENT_NAMES]))
  .min(1)
  .meta({ examples: [['message.responded', 'agent.error'], ['*']] })

export const webhookSchema = z
  .object({
    id: uuid,
    url: z.string(),
    events: subscriptionSchema,
    agentId: uuid.optional().meta({ description: 'Only this agent’s events.' }),
    description: z.string().optional(),
    headers: z
      .record(z.string(), z.object({ set: z.literal(true) }))
      .optional()
      .meta({ description: 'Headers of its own. Their values are secret.' }),
    disableOnGone: z.boolean().meta({ description: 'Whether an answer of 410 disables it.' }),
    enabled: z.boolean(),
    disabledReason: z
      .enum(disabledReasons)
      .optional()
      .meta({ description: 'When it is disabled, with `disabledAt`.' }),
    disabledAt: at.optional(),
    consecutiveFailures: count,
    failingSince: at.optional().meta({ description: 'The first failure after the last success.' }),
    lastSuccessAt: at.optional().meta({ description: 'Exact to about ten seconds.' }),
    lastFailureAt: at.optional(),
    circuit: z.enum(circuits).meta({
      description: '`open`: nothing is sent for a while. `half_open`: one probe at a time.',
    }),
    circuitOpenUntil: at.optional(),
    previousSecretUntil: at
      .optional()
      .meta({ description: 'During a rotation: how long the old secret signs too.' }),
    createdAt: at,
    updatedAt: at,
  })
  .meta({ id: 'Webhook' })

export const createdWebhookSchema = webhookSchema
  .extend({
    secret: z.string().meta({ description: 'What deliveries are signed with; shown this once.' }),
  })
  .meta({ id: 'CreatedWebhook' })

type WebhookBody = BodyOf<typeof webhookSchema>

/** As it stands at `now`. Never with the secret: only the answers of create and rotate add it (S§2). */
export const webhookBody = (webhook: Webhook, now: Instant): WebhookBody => ({
  id: webhook.id,
  url: webhook.url,
  events: webhook.events,
  ...(webhook.agentId !== undefined && { agentId: webhook.agentId }),
  ...(webhook.description !== undefined && { description: webhook.description }),
  ...(webhook.headers && {
    headers: Object.fromEntries(
      webhook.headers.names.map((name) => [name, { set: true as const }]),
    ),
  }),
  disableOnGone: webhook.disableOnGone,
  ...statusFields(webhook),
  ...healthFields(webhook, now),
  ...(webhook.previousSecret &&
    webhook.previousSecret.until > now && {
      previousSecretUntil: toIso(webhook.previousSecret.until),
    }),
  createdAt: toIso(webhook.createdAt),
  updatedAt: toIso(webhook.updatedAt),
})

const statusFields = ({
  status,
}: Webhook): Pick<WebhookBody, 'enabled' | 'disabledReason' | 'disabledAt'> =>
  status.kind === 'enabled'
    ? { enabled: true }
    : { enabled: false, disabledReason: status.reason, disabledAt: toIso(status.at) }

type Health =
  | 'consecutiveFailures'
  | 'failingSince'
  | 'lastSuccessAt'
  | 'lastFailureAt'
  | 'circuit'
  | 'circuitOpenUntil'
function healthFields({ health }: Webhook, now: Instant): Pick<WebhookBody, Health> {
  const { consecutiveFailures, failingSince, lastSuccessAt, lastFailureAt, circuit } = health
  return {
    consecutiveFailures,
    ...(failingSince !== undefined && { failingSince: toIso(failingSince) }),
    ...(lastSuccessAt !== undefined && { lastSuccessAt: toIso(lastSuccessAt) }),
    ...(lastFailureAt !== undefined && { lastFailureAt: toIso(lastFailureAt) }),
    circuit: circuitAt(health, now),
    ...(circuit.kind === 'open' &&
      circuit.until > now && { circuitOpenUntil: toIso(circuit.until) }),
  }
}
