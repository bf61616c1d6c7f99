import { expect } from 'vitest'
import type { AfterAttempt, DeliveryState, DeliveryFilter } from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { accepted, refused } from '../../fakes/fake-sender.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

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
      const [claim] = await deliveries.claim({ ...CLAIM_ALL, now: NOW, until: NOW + LEASE_MS })
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

  it('are by message and by session, in pages, and of the project alone', async ({
    storage: { deliveries },
    scene,
  }) => {
    const webhooks = [await scene.webhook(), await scene.webhook()]
    const agent = await scene.agent()
    const published = [
      { messageId: 'm1', sessionId: 's1' },
      { messageId: 'm2', sessionId: 's1' },
      { messageId: 'm1', sessionId: 's1' },
      { messageId: 'm3', sessionId: 's2' },
      {},
    ]
    for (const event of published) await scene.publish(agent, event)
    const all = (await deliveries.list({ projectId: PROJECT_ID }, { limit: 50 })).data
    const ofEvents = (...places: number[]) =>
      places.flatMap((place) => all.slice(8 - 2 * place, 10 - 2 * place).map(({ id }) => id))

    const list = async (filter: Partial<DeliveryFilter>, limit: number): Promise<string[]> => {
      const ids: string[] = []
      let cursor: string | null | undefined
      while (cursor !== null) {
        const page = { limit, ...(cursor !== undefined && { cursor }) }
        const found = await deliveries.list({ projectId: PROJECT_ID, ...filter }, page)
        ids.push(...found.data.map(({ id }) => id))
        cursor = found.nextCursor
      }
      return ids
    }
    for (const limit of [1, 3, 50]) {
      expect(await list({ messageId: 'm1' }, limit)).toEqual(ofEvents(2, 0))
      expect(await list({ sessionId: 's1' }, limit)).toEqual(ofEvents(2, 1, 0))
      expect(await list({ sessionId: 's2' }, limit)).toEqual(ofEvents(3))
      expect(await list({ sessionId: 's1', messageId: 'm2' }, limit)).toEqual(ofEvents(1))
      expect(await list({ sessionId: 's2', messageId: 'm2' }, limit)).toEqual([])
      expect(await list({ messageId: 'm1', status: 'delivered' }, limit)).toEqual([])
      const webhookId = webhooks[0]?.id ?? ''
      expect(await list({ sessionId: 's1', webhookId }, limit)).toHaveLength(3)
      for (const filter of [{ messageId: 'm1' }, { sessionId: 's1' }])
        expect(await list({ ...filter, projectId: OTHER_PROJECT_ID }, limit)).toEqual([])
    }

    const ofMessages = async (messageIds: string[], limit: number, projectId = PROJECT_ID) =>
      (await deliveries.ofMessages({ projectId, messageIds, limit })).map(
        ({ messageId, delivery }) => [messageId, delivery.id],
      )
    const [m3, m1] = [ofEvents(3), ofEvents(2, 0)]
    expect(await ofMessages(['m3', 'm4', 'm1'], 3)).toEqual([
      ...m3.map((id) => ['m3', id]),
      ...m1.slice(0, 3).map((id) => ['m1', id]),
    ])
    expect(await ofMessages(['m1'], 9, OTHER_PROJECT_ID)).toEqual([])
    expect(await ofMessages([], 9)).toEqual([])
    const [one] = await deliveries.ofMessages({
      projectId: PROJECT_ID,
      messageIds: ['m2'],
      limit: 1,
    })
    expect(all).toContainEqual(one?.delivery)
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
