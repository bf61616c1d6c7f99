import { expect } from 'vitest'
import type { WebhookDelivery } from '@org/agent-messaging-core'
import type { ClaimedDelivery } from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { accepted } from '../../fakes/fake-sender.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const claimDue = ({ deliveries }: UnwrappedStorage, now = NOW): Promise<ClaimedDelivery[]> =>
  deliveries.claim({ ...CLAIM_ALL, now, until: now + LEASE_MS })

async function listAll({ deliveries }: UnwrappedStorage): Promise<readonly WebhookDelivery[]> {
  return (await deliveries.list({ projectId: PROJECT_ID }, { limit: 100 })).data
}

export function deletedWebhooksSuite(it: StorageTest): void {
  it('are never claimed again, not when they are due and not when a lease ends', async ({
    storage,
    scene,
  }) => {
    const [agent, webhook] = [await scene.agent(), await scene.webhook()]
    await scene.publish(agent, {}, { until: NOW + LEASE_MS, except: new Set() })
    await scene.publish(agent)
    expect(await storage.webhooks.delete(PROJECT_ID, webhook.id)).toBe(true)
    expect(await claimDue(storage)).toEqual([])
    expect(await claimDue(storage, NOW + MINUTE)).toEqual([])
  })

  it('are cancelled a bounded number at a time, with the reason', async ({ storage, scene }) => {
    const [agent, webhook, other] = [
      await scene.agent(),
      await scene.webhook(),
      await scene.webhook(),
    ]
    for (let i = 0; i < 5; i++) await scene.publish(agent)
    await storage.webhooks.delete(PROJECT_ID, webhook.id)
    const counts = []
    for (let turn = 0; turn < 4; turn++)
      counts.push(await storage.deliveries.cancelOrphans({ now: NOW + turn, limit: 2 }))
    expect(counts).toEqual([2, 2, 1, 0])

    const mine = (await listAll(storage)).filter(({ webhookId }) => webhookId === webhook.id)
    for (const { state } of mine)
      expect(state).toMatchObject({ kind: 'cancelled', reason: 'webhook_deleted' })
    expect(await claimDue(storage)).toHaveLength(5)
    expect((await listAll(storage)).filter(({ webhookId }) => webhookId === other.id)).toHaveLength(
      5,
    )
  })

  it('are cancelled also when their sender died', async ({ storage, scene }) => {
    const [agent, webhook] = [await scene.agent(), await scene.webhook()]
    await scene.publish(agent, {}, { until: NOW + LEASE_MS, except: new Set() })
    await storage.webhooks.delete(PROJECT_ID, webhook.id)
    expect(await storage.deliveries.cancelOrphans({ now: NOW + LEASE_MS, limit: 10 })).toBe(1)
    expect((await listAll(storage))[0]?.state).toEqual({
      kind: 'cancelled',
      cancelledAt: NOW + LEASE_MS,
      reason: 'webhook_deleted',
    })
  })

  it('stay as they are once they are final, with their attempts', async ({ storage, scene }) => {
    const [agent, webhook] = [await scene.agent(), await scene.webhook()]
    const [claimed] = await scene.publish(agent, {}, { until: NOW + LEASE_MS, except: new Set() })
    if (!claimed) throw new Error('no delivery was born claimed')
    const attempt = { startedAt: NOW, durationMs: 1, outcome: accepted() }
    const held = { deliveryId: claimed.delivery.id, token: claimed.lease.token }
    await storage.webhooks.delete(PROJECT_ID, webhook.id)
    expect(
      await storage.deliveries.recordAttempt({
        ...held,
        attempt,
        state: { kind: 'delivered', deliveredAt: NOW },
      }),
    ).toEqual({
      kind: 'recorded',
    })
    expect(await storage.deliveries.cancelOrphans({ now: NOW + MINUTE, limit: 10 })).toBe(0)
    expect(await storage.deliveries.get(PROJECT_ID, held.deliveryId)).toMatchObject({
      delivery: { state: { kind: 'delivered' } },
      attempts: [attempt],
    })
  })

  it('take no attempt once they are cancelled', async ({ storage, scene }) => {
    const [agent, webhook] = [await scene.agent(), await scene.webhook()]
    await scene.publish(agent)
    const [claimed] = await claimDue(storage)
    if (!claimed) throw new Error('nothing was due')
    await storage.webhooks.delete(PROJECT_ID, webhook.id)
    await storage.deliveries.cancelOrphans({ now: NOW + LEASE_MS, limit: 10 })
    const attempt = { startedAt: NOW, durationMs: 1, outcome: accepted() }
    const record = {
      deliveryId: claimed.delivery.id,
      token: claimed.lease.token,
      attempt,
      state: { kind: 'delivered', deliveredAt: NOW },
    } as const
    expect(await storage.deliveries.recordAttempt(record)).toEqual({ kind: 'lease_lost' })
    expect((await listAll(storage))[0]?.state.kind).toBe('cancelled')
  })
}
