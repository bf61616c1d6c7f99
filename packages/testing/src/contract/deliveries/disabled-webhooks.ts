import { expect } from 'vitest'
import type { Webhook } from '@org/agent-messaging-core'
import { untried, type ClaimedDelivery } from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { refused } from '../../fakes/fake-sender.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const disabled: Webhook['status'] = { kind: 'disabled', reason: 'operator', at: NOW }
const ALL = { now: NOW + MINUTE, dueBefore: 0, keep: 1_000, limit: 1_000 }

const disable = ({ webhooks }: UnwrappedStorage, { id }: Webhook) =>
  webhooks.update(PROJECT_ID, id, { status: disabled, updatedAt: NOW })

/** Returns the creation times of the pending deliveries, which identify them. */
async function open({ deliveries }: UnwrappedStorage, webhook: Webhook): Promise<number[]> {
  const { data } = await deliveries.list(
    { projectId: PROJECT_ID, webhookId: webhook.id, status: 'pending' },
    { limit: 100 },
  )
  return data.map(({ createdAt }) => createdAt - NOW).sort((a, b) => a - b)
}

export function disabledWebhooksSuite(it: StorageTest): void {
  it('lose what was due too long ago, with the reason', async ({ storage, scene }) => {
    const [agent, webhook] = [await scene.agent(), await scene.webhook({ status: disabled })]
    for (const at of [0, 1, 2]) await scene.publish(agent, { createdAt: NOW + at })
    expect(await storage.deliveries.cancelStale({ ...ALL, dueBefore: NOW + 2 })).toBe(2)
    expect(await open(storage, webhook)).toEqual([2])
    const { data } = await storage.deliveries.list(
      { projectId: PROJECT_ID, status: 'cancelled' },
      { limit: 9 },
    )
    const state = { kind: 'cancelled', cancelledAt: ALL.now, reason: 'webhook_disabled' }
    expect(data.map((delivery) => delivery.state)).toEqual([state, state])
    expect((await storage.deliveries.get(PROJECT_ID, data[0]?.id ?? ''))?.delivery.state).toEqual(
      state,
    )
  })

  it('keep the newest deliveries of each webhook, and lose the rest in bounded steps', async ({
    storage,
    scene,
  }) => {
    const [agent, one, other] = [
      await scene.agent(),
      await scene.webhook({ status: disabled }),
      await scene.webhook({ status: disabled }),
    ]
    for (const at of [0, 1, 2, 3]) await scene.publish(agent, { createdAt: NOW + at })
    const counts = []
    for (let turn = 0; turn < 3; turn++)
      counts.push(await storage.deliveries.cancelStale({ ...ALL, keep: 2, limit: 3 }))
    expect(counts).toEqual([3, 1, 0])
    expect([await open(storage, one), await open(storage, other)]).toEqual([
      [2, 3],
      [2, 3],
    ])
  })

  it('lose deliveries that are too old first, and then the surplus, in one step', async ({
    storage,
    scene,
  }) => {
    const [agent, webhook] = [await scene.agent(), await scene.webhook({ status: disabled })]
    for (const at of [0, 1, 2, 3, 4]) await scene.publish(agent, { createdAt: NOW + at })
    const query = { ...ALL, dueBefore: NOW + 2, keep: 2 }
    expect(await storage.deliveries.cancelStale({ ...query, limit: 1 })).toBe(1)
    expect(await open(storage, webhook)).toEqual([1, 2, 3, 4])
    expect(await storage.deliveries.cancelStale(query)).toBe(2)
    expect(await open(storage, webhook)).toEqual([3, 4])
  })

  it('lose attempted deliveries before new ones', async ({ storage, scene }) => {
    const [agent, webhook] = [await scene.agent(), await scene.webhook()]
    await scene.publish(agent, { createdAt: NOW + 5 })
    const [claim] = (await storage.deliveries.claim({
      ...CLAIM_ALL,
      now: NOW + 5,
      until: NOW + LEASE_MS,
    })) as [ClaimedDelivery]
    const attempt = { startedAt: NOW, durationMs: 1, outcome: refused() }
    const held = { deliveryId: claim.delivery.id, token: claim.lease.token }
    await storage.deliveries.recordAttempt({
      ...held,
      attempt,
      state: { kind: 'pending', nextAttemptAt: NOW + 20, step: 1 },
    })
    await disable(storage, webhook)
    for (const at of [10, 11]) await scene.publish(agent, { createdAt: NOW + at })
    expect(await storage.deliveries.cancelStale({ ...ALL, keep: 2 })).toBe(1)
    expect(await open(storage, webhook)).toEqual([10, 11])
  })

  it('keep deliveries that are not due or are being sent', async ({ storage, scene }) => {
    const [agent, webhook] = [await scene.agent(), await scene.webhook()]
    await scene.publish(agent)
    await storage.deliveries.claim({ ...CLAIM_ALL, now: NOW, until: NOW + LEASE_MS })
    await disable(storage, webhook)
    await scene.publish(agent, { createdAt: NOW + MINUTE })
    const query = { now: NOW + 1, dueBefore: NOW + 1, keep: 0, limit: 9 }
    expect(await storage.deliveries.cancelStale(query)).toBe(0)
    // Its sender died.
    expect(await storage.deliveries.cancelStale({ ...query, now: NOW + LEASE_MS })).toBe(1)
    expect(await open(storage, webhook)).toEqual([MINUTE])
  })

  it('are the only webhooks that lose deliveries: enabled and deleted ones and open circuits keep theirs', async ({
    storage,
    scene,
  }) => {
    const [agent, enabled, deleted] = [
      await scene.agent(),
      await scene.webhook(),
      await scene.webhook({ status: disabled }),
    ]
    const failing = await scene.webhook({
      health: { ...untried, circuit: { kind: 'open', until: NOW + 9 * MINUTE, trips: 3 } },
    })
    await scene.publish(agent)
    await storage.webhooks.delete(PROJECT_ID, deleted.id)
    expect(await storage.deliveries.cancelStale({ ...ALL, dueBefore: NOW + 1, keep: 0 })).toBe(0)
    expect([
      await open(storage, enabled),
      await open(storage, deleted),
      await open(storage, failing),
    ]).toEqual([[0], [0], [0]])
  })
}
