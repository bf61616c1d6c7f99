import { expect, it } from 'vitest'
import { aWebhook, fakePlatform } from '@org/agent-messaging-testing'
import { defaultPolicy } from '../policy.js'
import { Receivers } from './receivers.js'

it('a webhook with another URL loses the limit that refusals gave it', () => {
  let now = 0
  const platform = fakePlatform()
  const clock = { ...platform.clock, elapsed: () => now }
  const receivers = new Receivers(
    { ...platform, clock, policy: defaultPolicy },
    () => 'stopped',
    () => undefined,
  )
  const webhook = aWebhook()
  const { limit } = receivers.of(webhook)
  for (let request = 0; request < 200; request++) {
    limit.waitMs(now)
    limit.started(now)
    limit.waitMs(now)
    limit.ended(now + 5, { verdict: 'refused', startedAt: now, retryAfterMs: 0 })
    now += 10
  }
  expect(limit.snapshot()).toMatchObject({
    reason: 'refusals',
    requestsPerSecond: expect.any(Number),
  })
  receivers.update(webhook)
  expect(limit.snapshot().reason).toBe('refusals')
  receivers.update({ ...webhook, url: 'https://moved.example/' })
  expect(limit.snapshot()).toEqual({ concurrency: 8, reason: 'growing' })
})
