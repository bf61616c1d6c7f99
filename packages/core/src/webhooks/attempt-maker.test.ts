import { expect, it } from 'vitest'
import { newSecret } from '../domain/webhooks/signature.js'
import { webhookSecretContext } from '../domain/webhooks/webhook.js'
import type { AttemptOrder } from '../ports/attempt-maker.js'
import { defaultPolicy } from '../policy.js'
import { aWebhook, fakePlatform } from '@org/agent-messaging-testing'
import { attemptMaker } from './attempt-maker.js'

/** A maker that starts this long before the end of the order's lease. */
function scene(leftMs: number) {
  const platform = fakePlatform()
  const { crypto, clock, sender } = platform
  const { id } = aWebhook()
  const order: AttemptOrder = {
    delivery: { id: 'delivery', event: 'message.responded' },
    webhook: aWebhook({
      id,
      secret: crypto.seal(newSecret(crypto.randomBytes), webhookSecretContext(id)),
    }),
    lease: { until: clock.now() + leftMs },
    body: '{}',
  }
  return { made: () => attemptMaker({ ...platform, policy: defaultPolicy }).make(order), sender }
}

it('gives a request the deadline of the policy, or the rest of its lease', async () => {
  const { deadlineMs } = defaultPolicy.deliver
  for (const leftMs of [deadlineMs + 1, deadlineMs - 1]) {
    const { made, sender } = scene(leftMs)
    expect((await made()).outcome.kind).toBe('accepted')
    expect(sender.requests.map((request) => request.deadlineMs)).toEqual([
      Math.min(leftMs, deadlineMs),
    ])
  }
})

it('sends nothing when another process can send the delivery already', async () => {
  const { made, sender } = scene(0)
  expect(await made()).toMatchObject({
    outcome: {
      kind: 'unreachable',
      error: 'interrupted',
      detail: 'its turn came too late to be sent',
    },
  })
  expect(sender.requests).toEqual([])
})
