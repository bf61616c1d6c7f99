import { circuitAt, toIso, type Instant, type Webhook } from '@org/agent-messaging-core'

/** As it stands at `now`. Never with the secret: only the answers of create and rotate add it (S§2). */
export const webhookBody = (webhook: Webhook, now: Instant) => ({
  id: webhook.id,
  url: webhook.url,
  events: webhook.events,
  ...(webhook.agentId !== undefined && { agentId: webhook.agentId }),
  ...(webhook.description !== undefined && { description: webhook.description }),
  ...(webhook.headers && { headers: Object.fromEntries(webhook.headers.names.map((name) => [name, { set: true }])) }),
  disableOnGone: webhook.disableOnGone,
  ...statusFields(webhook),
  ...healthFields(webhook, now),
  ...(webhook.previousSecret && webhook.previousSecret.until > now && { previousSecretUntil: toIso(webhook.previousSecret.until) }),
  createdAt: toIso(webhook.createdAt),
  updatedAt: toIso(webhook.updatedAt),
})

const statusFields = ({ status }: Webhook) =>
  status.kind === 'enabled' ? { enabled: true } : { enabled: false, disabledReason: status.reason, disabledAt: toIso(status.at) }

function healthFields({ health }: Webhook, now: Instant) {
  const { consecutiveFailures, failingSince, lastSuccessAt, lastFailureAt, circuit } = health
  return {
    consecutiveFailures,
    ...(failingSince !== undefined && { failingSince: toIso(failingSince) }),
    ...(lastSuccessAt !== undefined && { lastSuccessAt: toIso(lastSuccessAt) }),
    ...(lastFailureAt !== undefined && { lastFailureAt: toIso(lastFailureAt) }),
    circuit: circuitAt(health, now),
    ...(circuit.kind === 'open' && circuit.until > now && { circuitOpenUntil: toIso(circuit.until) }),
  }
}
