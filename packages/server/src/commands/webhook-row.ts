import { circuitAt, type Instant, type Webhook } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import type { Row } from './output.js'

/** A line of `webhooks list`. */
export const webhookRow = (webhook: Webhook, now: Instant): Row => ({
  id: webhook.id,
  url: webhook.url,
  events: webhook.events.join(' '),
  filter: webhook.filter ? JSON.stringify(webhook.filter) : 'none',
  state: stateOf(webhook),
  health: healthOf(webhook, now),
})

function stateOf({ status, isPaused }: Webhook): string {
  if (status.kind === 'disabled') return `disabled (${status.reason})`
  return isPaused ? 'paused' : status.kind
}

/** Says whether the receiver accepts requests, and since when it does not. */
function healthOf({ health }: Webhook, now: Instant): string {
  const { consecutiveFailures: failures, failingSince, lastSuccessAt } = health
  if (failures === 0) return lastSuccessAt === undefined ? 'untried' : 'healthy'
  const since = failingSince === undefined ? '' : ` since ${toIso(failingSince)}`
  const waits = circuitAt(health, now) === 'open' ? ', waiting' : ''
  return `${failures} ${failures === 1 ? 'failure' : 'failures'}${since}${waits}`
}
