import { describe, expect, it } from 'vitest'
import { orderKeyOf } from './delivery-order.js'

const ordered = { id: 'w', ordering: 'session' } as const

describe('the order key of a delivery', () => {
  it('has the webhook, the session, and the agent or else the project', () => {
    expect(orderKeyOf(ordered, { projectId: 'p', agentId: 'a', sessionId: 's' })).toBe('w a s')
    expect(orderKeyOf(ordered, { projectId: 'p', sessionId: 's' })).toBe('w p s')
  })
  it.for([
    [
      { id: 'w', ordering: 'none' },
      { projectId: 'p', agentId: 'a', sessionId: 's' },
    ],
    [ordered, { projectId: 'p', agentId: 'a' }],
    [ordered, { projectId: 'p' }],
  ] as const)('is absent for %j and %j', ([webhook, event]) => {
    expect(orderKeyOf(webhook, event)).toBeUndefined()
  })
})
