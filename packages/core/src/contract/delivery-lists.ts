import { expect } from 'vitest'
import type { AfterAttempt, DeliveryState } from '../domain/delivery.js'
import type { DeliveryFilter } from '../ports/delivery-store.js'
import { PROJECT_ID } from '../testing/builders.js'
import { accepted, refused } from '../testing/fake-sender.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, type Scene } from './scene.js'
import type { StorageTest } from './storage-test.js'
import type { UnwrappedStorage } from './unwrapped.js'

const ENDS: readonly AfterAttempt[] = [
  { kind: 'delivered', deliveredAt: NOW },
  { kind: 'exhausted', exhaustedAt: NOW },
  { kind: 'pending', nextAttemptAt: NOW + MINUTE, step: 1 },
]

/**
 * Of one webhook: three `agent.error` that were attempted and ended so, then an `agent.stopped`
 * that is being sent.
 */
async function publishFour({ deliveries }: UnwrappedStorage, scene: Scene): Promise<void> {
  const agent = await scene.agent()
  const claim = { until: NOW + LEASE_MS, except: new Set<string>() }
  for (const state of ENDS) {
    const attempt = {
      startedAt: NOW,
      durationMs: 1,
      outcome: state.kind === 'delivered' ? accepted() : refused(),
    }
    for (const { delivery, lease } of await scene.publish(agent, { name: 'agent.error' }, claim)) {
      await deliveries.recordAttempt({
        deliveryId: delivery.id,
        token: lease.token,
        attempt,
        state,
      })
    }
  }
  await scene.publish(agent, { name: 'agent.stopped' }, claim)
}

export function deliveryListsSuite(it: StorageTest): void {
  it('are newest first, by webhook, event and status, and show a sending delivery as pending', async ({
    storage,
    scene,
  }) => {
    const webhook = await scene.webhook({ events: ['agent.error', 'agent.stopped'] })
    await publishFour(storage, scene)
    const other = await scene.webhook({ events: ['agent.started'] })
    await scene.publish(await scene.agent(), { name: 'agent.started' })

    const kinds = async (filter: Partial<DeliveryFilter>): Promise<DeliveryState['kind'][]> => {
      const { data } = await storage.deliveries.list(
        { projectId: PROJECT_ID, ...filter },
        { limit: 50 },
      )
      return data.map(({ state }) => state.kind)
    }
    expect(await kinds({})).toEqual(['pending', 'sending', 'pending', 'exhausted', 'delivered'])
    expect(await kinds({ webhookId: webhook.id, status: 'pending' })).toEqual([
      'sending',
      'pending',
    ])
    expect(await kinds({ status: 'delivered' })).toEqual(['delivered'])
    expect(await kinds({ status: 'exhausted', event: 'agent.error' })).toEqual(['exhausted'])
    expect(await kinds({ status: 'exhausted', event: 'agent.stopped' })).toEqual([])
    expect(await kinds({ status: 'cancelled' })).toEqual([])
    expect(await kinds({ event: 'agent.stopped' })).toEqual(['sending'])
    expect(await kinds({ webhookId: other.id })).toEqual(['pending'])
    expect(await kinds({ lastAnswer: '2xx' })).toEqual(['delivered'])
    expect(await kinds({ lastAnswer: '5xx', status: 'exhausted' })).toEqual(['exhausted'])
    expect(await kinds({ lastAnswer: 'none' })).toEqual([])
  })

  it('go by the last answer alone, also where there were others before it', async ({
    storage: { deliveries },
    scene,
  }) => {
    await scene.webhook()
    await scene.publish(await scene.agent())
    const unreached = { kind: 'unreachable', error: 'connect', detail: '' } as const
    const found = []
    for (const outcome of [refused(404), refused(503), unreached]) {
      const [claim] = await deliveries.claimDue({ ...CLAIM_ALL, now: NOW, until: NOW + LEASE_MS })
      const held = { deliveryId: claim?.delivery.id ?? '', token: claim?.lease.token ?? 0 }
      const attempt = { startedAt: NOW, durationMs: 1, outcome }
      await deliveries.recordAttempt({
        ...held,
        attempt,
        state: { kind: 'pending', nextAttemptAt: NOW, step: 1 },
      })
      for (const lastAnswer of ['4xx', '5xx', 'none'] as const) {
        const { data } = await deliveries.list({ projectId: PROJECT_ID, lastAnswer }, { limit: 9 })
        if (data.length > 0) found.push(lastAnswer)
      }
    }
    expect(found).toEqual(['4xx', '5xx', 'none'])
  })

  it('hold what get gives of each', async ({ storage: { deliveries }, scene }) => {
    await scene.webhook()
    await scene.publish(await scene.agent())
    const { data } = await deliveries.list({ projectId: PROJECT_ID }, { limit: 50 })
    expect(data).toHaveLength(1)
    for (const delivery of data)
      expect((await deliveries.get(PROJECT_ID, delivery.id))?.delivery).toEqual(delivery)
  })
}
