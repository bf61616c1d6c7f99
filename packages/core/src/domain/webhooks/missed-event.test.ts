import { aWebhook } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { seenEvent, whyMissed, type SeenEvent } from './missed-event.js'
import type { Webhook } from './webhook.js'

const event: SeenEvent = {
  name: 'order.paid',
  createdAt: 1_000,
  sessionId: 's-1',
  data: { amount: 12, customer: { plan: 'free' } },
}
const webhook = (given: Partial<Webhook> = {}): Webhook =>
  aWebhook({ id: 'w', events: ['order.*'], createdAt: 500, ...given })
const data = [{ path: 'amount', min: 20 }]

describe('the reason why a webhook has no delivery', () => {
  it.each<[string, Partial<Webhook>, Partial<SeenEvent>, object]>([
    ['a later webhook', { createdAt: 1_001 }, {}, { cause: 'created_later' }],
    ['no subscription', { events: ['invoice.*'] }, {}, { cause: 'not_subscribed' }],
    ['a match', { filter: { sessionIdPrefix: 's-' } }, {}, { cause: 'no_delivery' }],
    [
      'a filter of data',
      { filter: { data } },
      {},
      { cause: 'filtered_out', condition: 'data: amount from 20' },
    ],
    [
      'a filter of sessions',
      { filter: { sessionIdPrefix: 'vip-' } },
      {},
      { cause: 'filtered_out', condition: 'sessionIdPrefix = "vip-"' },
    ],
    [
      'a filter of agents',
      { filter: { agentId: 'a', data } },
      {},
      { cause: 'filtered_out', condition: 'agentId = "a"' },
    ],
    [
      'a filter of metadata',
      { filter: { metadata: [{ path: 'tier', equals: 'gold' }] } },
      { metadata: {} },
      { cause: 'filtered_out', condition: 'metadata: tier = "gold"' },
    ],
    ['a test', { events: ['*'] }, { name: 'webhook.test' }, { cause: 'not_sent_to' }],
    [
      'an event about the webhook',
      { events: ['*'] },
      { name: 'delivery.exhausted', data: { webhookId: 'w' } },
      { cause: 'not_sent_to' },
    ],
    [
      'an event about another webhook',
      { events: ['*'] },
      { name: 'webhook.failing', data: { webhookId: 'other' } },
      { cause: 'no_delivery' },
    ],
  ])('%s', (_, given, more, reason) => {
    expect(whyMissed(webhook(given), { ...event, ...more })).toEqual(reason)
  })
})

it('an event is read from its body', () => {
  const read = (fields: object) =>
    seenEvent('order.paid', { body: JSON.stringify({ data: fields }), createdAt: 7 })
  const whole = { agentId: 'a', sessionId: 's', messageId: 'm', metadata: { tier: 'gold' }, n: 1 }
  expect(read(whole)).toEqual({
    name: 'order.paid',
    createdAt: 7,
    data: whole,
    agentId: 'a',
    sessionId: 's',
    messageId: 'm',
    metadata: { tier: 'gold' },
  })
  const odd = { sessionId: 7, metadata: 'none' }
  expect(read(odd)).toEqual({ name: 'order.paid', createdAt: 7, data: odd })
})
