import type { Webhook } from '@org/agent-messaging-client'
import type { Row } from '../output.js'

/** A line of `webhooks list`. */
export const webhookRow = (webhook: Webhook): Row => ({
  id: webhook.id,
  url: webhook.url,
  events: webhook.events.join(' '),
  filter: webhook.filter ? JSON.stringify(webhook.filter) : 'none',
  state: stateOf(webhook),
  health: healthOf(webhook),
  lastFailure: lastFailureOf(webhook),
})

export function stateOf({ enabled, disabledReason, paused }: Webhook) {
  if (!enabled) return `disabled (${disabledReason})`
  return paused ? 'paused' : 'enabled'
}

function lastFailureOf({ lastFailure }: Webhook) {
  if (!lastFailure) return 'none'
  const { startedAt, statusCode, error, deliveryId } = lastFailure
  return `${statusCode ?? error} at ${startedAt}, delivery ${deliveryId}`
}

/** Says whether the receiver accepts requests, and since when it does not. */
function healthOf(webhook: Webhook) {
  const { consecutiveFailures: failures, failingSince, lastSuccessAt, circuit } = webhook
  if (failures === 0) return lastSuccessAt === undefined ? 'untried' : 'healthy'
  const since = failingSince === undefined ? '' : ` since ${failingSince}`
  const waits = circuit === 'open' ? ', waiting' : ''
  return `${failures} ${failures === 1 ? 'failure' : 'failures'}${since}${waits}`
}
