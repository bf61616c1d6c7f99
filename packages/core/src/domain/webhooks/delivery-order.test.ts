import { describe, expect, it } from 'vitest'
import { orderKeyOf } from './delivery-order.js'

const ordered = { id: 'w', ordering: 'session' } as const

describe('the order key of a delivery', () => {
  it('has the webhook, the agent and the session', () => {
    expect(orderKeyOf(ordered, { agentId: 'a', sessionId: 's' })).toBe('w a s')
  })
  it.for([
    [
      { id: 'w', ordering: 'none' },
      { agentId: 'a', sessionId: 's' },
    ],
    [ordered, { agentId: 'a' }],
    [ordered, {}],
  ] as const)('is absent for %j and %j', ([webhook, event]) => {
    expect(orderKeyOf(webhook, event)).toBeUndefined()
  })
})
