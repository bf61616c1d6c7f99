import { describe, expect, it } from 'vitest'
import {
  eventNameRule,
  eventTypeRule,
  subscribesTo,
  subscriptionRule,
  subscriptionsFor,
  widestOf,
} from './event-name.js'

describe('a type that a host publishes', () => {
  it.each(['order.paid', 'a.b', 'Order_1.item-2.added', `a.${'b'.repeat(98)}`])(
    'can be %s',
    (type) => expect(eventTypeRule(type)).toBeUndefined(),
  )

  it.each([
    'order',
    'order.',
    '.paid',
    'order..paid',
    'order.*',
    '*',
    'order paid.x',
    'bestellung.bezähmt',
    '',
    7,
    null,
  ])('cannot be %j', (type) => expect(eventTypeRule(type)).toContain('such as order.paid'))

  it('is given, and has at most 100 characters', () => {
    expect(eventTypeRule(undefined)).toBe('is required')
    expect(eventTypeRule(`a.${'b'.repeat(99)}`)).toBe('must have at most 100 characters')
  })

  it.each(['message.sent', 'agent.x', 'webhook.test', 'delivery.exhausted'])(
    'is not %s, which belongs to the service',
    (type) => expect(eventTypeRule(type)).toContain('events of the service'),
  )

  it('can begin with the letters of a word of the service', () =>
    expect(eventTypeRule('messages.sent')).toBeUndefined())
})

it('is one of the names that a list of deliveries filters by', () => {
  expect(eventNameRule('message.responded')).toBeUndefined()
  expect(eventNameRule('webhook.test')).toBeUndefined()
  expect(eventNameRule('order.paid')).toBeUndefined()
  expect(eventNameRule('message.unknown')).toContain('must be one of: message.responded')
})

describe('a subscription', () => {
  it.each(['*', 'message.responded', 'order.paid', 'order.*', 'message.*', 'order.item.*'])(
    'can be %s',
    (name) => expect(subscriptionRule(name)).toBeUndefined(),
  )

  it.each(['webhook.test', 'message.unknown', '**', '.*', 'order*', 'order.*.paid', 7])(
    'cannot be %j',
    (name) => expect(subscriptionRule(name)).toContain('must be one of: *, message.responded'),
  )

  it('gets its name, its groups and everything', () => {
    expect(subscriptionsFor('order.item.added')).toEqual([
      '*',
      'order.item.added',
      'order.item.*',
      'order.*',
    ])
    expect(subscribesTo(['order.*'], 'order.item.added')).toBe(true)
    expect(subscribesTo(['order.*'], 'orders.added')).toBe(false)
    expect(subscribesTo(['order.item'], 'order.item.added')).toBe(false)
  })

  it('is left out beside a wider one', () => {
    expect(widestOf(['order.paid', '*'])).toEqual(['*'])
    expect(widestOf(['order.paid', 'order.*', 'order.item.*', 'user.created'])).toEqual([
      'order.*',
      'user.created',
    ])
    expect(widestOf(['a.b', 'a.b'])).toEqual(['a.b'])
  })
})
