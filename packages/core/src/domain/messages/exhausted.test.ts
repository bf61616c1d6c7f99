import { describe, expect, it } from 'vitest'
import type { Outcome, WebhookDelivery } from '../webhooks/delivery.js'
import { EVENT_NAMES, type EventName } from '../webhooks/event.js'
import { exhaustedEvent } from './exhausted.js'

const delivery = (event: EventName): WebhookDelivery => ({
  id: 'd',
  projectId: 'p',
  webhookId: 'w',
  eventId: 'e',
  event,
  attemptCount: 9,
  state: { kind: 'sending', leaseUntil: 5, step: 9 },
  createdAt: 0,
})
const refused: Outcome = { kind: 'refused', statusCode: 500, responseBody: 'a private answer' }
const unreachable: Outcome = { kind: 'unreachable', error: 'timeout', detail: 'after 10 s' }

describe('exhaustedEvent', () => {
  it.each<[Outcome, object]>([
    [refused, { outcome: 'refused', statusCode: 500 }],
    [unreachable, { outcome: 'unreachable', error: 'timeout' }],
  ])('names the delivery, and the outcome without its text (%j)', (outcome, lastAttempt) => {
    expect(exhaustedEvent(delivery('agent.error'), outcome, 7)).toEqual({
      event: 'delivery.exhausted',
      data: {
        ...{ deliveryId: 'd', webhookId: 'w', eventId: 'e', event: 'agent.error' },
        attemptCount: 10,
        lastAttempt,
        exhaustedAt: '1970-01-01T00:00:00.007Z',
      },
    })
  })

  it.each([...EVENT_NAMES, 'webhook.test'] as const)('of %s', (event) => {
    const isReport = [
      'webhook.failing',
      'webhook.recovered',
      'webhook.disabled',
      'delivery.exhausted',
    ].includes(event)
    expect(exhaustedEvent(delivery(event), refused, 7) === undefined).toBe(isReport)
  })
})
