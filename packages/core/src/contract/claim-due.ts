import { expect } from 'vitest'
import type { Agent } from '../domain/agent.js'
import type { ClaimDue, ClaimedDelivery } from '../ports/delivery-store.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, SECOND, type Scene } from './scene.js'
import type { StorageTest } from './storage-test.js'
import type { UnwrappedStorage } from './unwrapped.js'

const claimDue = (storage: UnwrappedStorage, query: Partial<ClaimDue> = {}): Promise<ClaimedDelivery[]> =>
  storage.deliveries.claimDue({ ...CLAIM_ALL, now: NOW, until: NOW + LEASE_MS, ...query })

async function publishTimes(scene: Scene, agent: Agent, times: number, createdAt = NOW): Promise<void> {
  await Promise.all(Array.from({ length: times }, () => scene.publish(agent, { createdAt })))
}

const webhookIds = (claimed: readonly ClaimedDelivery[]): string[] => claimed.map(({ webhook }) => webhook.id)

export function claimDueSuite(it: StorageTest): void {
  it('claims what is due, under a lease, with all that an attempt needs', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const webhook = await scene.webhook({ agentId: agent.id, description: 'mine' })
    await scene.publish(agent, { body: '{"a":1}', createdAt: NOW + 1 })
    expect(await claimDue(storage, { now: NOW })).toEqual([])
    const [claimed] = await claimDue(storage, { now: NOW + 1, until: NOW + LEASE_MS })
    expect(claimed).toMatchObject({ webhook, body: '{"a":1}', lease: { until: NOW + LEASE_MS } })
    expect(claimed?.delivery.state).toEqual({ kind: 'sending', leaseUntil: NOW + LEASE_MS, step: 0 })
    expect((await storage.deliveries.get(agent.projectId, claimed?.delivery.id ?? ''))?.delivery).toEqual(claimed?.delivery)
  })

  it('claims nothing twice while a lease lasts, and again under a new token when its sender let it end', async ({ storage, scene }) => {
    await scene.webhook()
    await scene.publish(await scene.agent())
    const [first] = await claimDue(storage)
    expect(await claimDue(storage, { now: NOW + LEASE_MS - 1 })).toEqual([])
    const [again] = await claimDue(storage, { now: NOW + LEASE_MS, until: NOW + 2 * LEASE_MS })
    expect(again?.delivery).toMatchObject({ id: first?.delivery.id, attemptCount: 0, state: { step: 0 } })
    expect(again?.lease.token).not.toBe(first?.lease.token)
  })

  it('claims the oldest due of a webhook first', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await scene.webhook()
    for (const createdAt of [NOW + 2, NOW + 3, NOW + 1]) await scene.publish(agent, { createdAt })
    const times = []
    for (let turn = 0; turn < 3; turn++) times.push((await claimDue(storage, { now: NOW + 9, perWebhook: 1 }))[0]?.delivery.createdAt)
    expect(times).toEqual([NOW + 1, NOW + 2, NOW + 3])
  })

  it('claims at most perWebhook of each webhook and limit in all', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const webhooks = [await scene.webhook(), await scene.webhook(), await scene.webhook()]
    await publishTimes(scene, agent, 5)
    const ids = webhookIds(await claimDue(storage, { perWebhook: 2 }))
    expect(ids.sort()).toEqual(webhooks.flatMap(({ id }) => [id, id]).sort())
    expect(await claimDue(storage, { limit: 4 })).toHaveLength(4)
    expect(await claimDue(storage, { limit: 0 })).toEqual([])
    expect(await claimDue(storage)).toHaveLength(5)
  })

  it('G6: a backlog of one webhook does not keep another waiting', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const flooded = await scene.webhook()
    await publishTimes(scene, agent, 50)
    const others = [await scene.webhook(), await scene.webhook()]
    await publishTimes(scene, agent, 1, NOW + SECOND)
    const ids = webhookIds(await claimDue(storage, { now: NOW + SECOND, limit: 10, perWebhook: 8 }))
    expect(ids).toEqual(expect.arrayContaining(others.map(({ id }) => id)))
    expect(ids.filter((id) => id === flooded.id)).toHaveLength(8)
  })

  it('G6: goes round the webhooks, so that each has its turn however small the limit is', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const webhooks = [await scene.webhook(), await scene.webhook(), await scene.webhook(), await scene.webhook()]
    await publishTimes(scene, agent, 10)
    for (const round of [1, 2]) {
      const turns = []
      for (const _ of webhooks) turns.push(...webhookIds(await claimDue(storage, { limit: 2, perWebhook: 2 })))
      expect(new Set(turns).size, `webhooks served in round ${round}`).toBe(webhooks.length)
    }
  })

  it('leaves out the webhooks that the caller excepts', async ({ storage, scene }) => {
    const [busy, free] = [await scene.webhook(), await scene.webhook()]
    await publishTimes(scene, await scene.agent(), 2)
    expect(webhookIds(await claimDue(storage, { except: new Set([busy.id]) }))).toEqual([free.id, free.id])
    expect(await claimDue(storage, { except: new Set([busy.id, free.id]) })).toEqual([])
    expect(webhookIds(await claimDue(storage))).toEqual([busy.id, busy.id])
  })

  it('leaves out disabled webhooks, and goes on where they were once they are enabled', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const webhook = await scene.webhook()
    await publishTimes(scene, agent, 2)
    const disabled = { kind: 'disabled', reason: 'operator', at: NOW } as const
    await storage.webhooks.update(agent.projectId, webhook.id, { status: disabled, updatedAt: NOW })
    await publishTimes(scene, agent, 1, NOW + SECOND)
    expect(await claimDue(storage, { now: NOW + MINUTE })).toEqual([])
    await storage.webhooks.update(agent.projectId, webhook.id, { status: { kind: 'enabled' }, updatedAt: NOW + MINUTE })
    expect(await claimDue(storage, { now: NOW + MINUTE, until: NOW + 2 * MINUTE })).toHaveLength(3)
  })

  it('uses the webhook as it is at the claim', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const { id } = await scene.webhook({ url: 'https://old.example' })
    await scene.publish(agent)
    await storage.webhooks.update(agent.projectId, id, { url: 'https://new.example', updatedAt: NOW + 1 })
    expect((await claimDue(storage))[0]?.webhook).toMatchObject({ id, url: 'https://new.example', updatedAt: NOW + 1 })
  })

  it('no two instances get the same delivery', async ({ storage, second, scene }) => {
    for (let i = 0; i < 4; i++) await scene.webhook()
    await publishTimes(scene, await scene.agent(), 10)
    const claims = Array.from({ length: 10 }, (_, i) => claimDue(i % 2 ? storage : second, { limit: 7, perWebhook: 3 }))
    const ids = (await Promise.all(claims)).flat().map(({ delivery }) => delivery.id)
    expect(new Set(ids).size).toBe(ids.length)
    const rest = await claimDue(storage)
    expect(ids.length + rest.length).toBe(40)
  })
}
