import { expect } from 'vitest'
import type { Agent } from '@org/agent-messaging-core'
import type { ClaimDue, ClaimedDelivery } from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { refused } from '../../fakes/fake-sender.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID, SECOND, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const claimDue = (
  storage: UnwrappedStorage,
  query: Partial<ClaimDue> = {},
): Promise<ClaimedDelivery[]> =>
  storage.deliveries.claim({ ...CLAIM_ALL, now: NOW, until: NOW + LEASE_MS, ...query })

async function publishTimes(
  scene: Scene,
  agent: Agent,
  times: number,
  createdAt = NOW,
): Promise<void> {
  await Promise.all(Array.from({ length: times }, () => scene.publish(agent, { createdAt })))
}

/** Due again in a minute. */
const failOnce = ({ deliveries }: UnwrappedStorage, { delivery, lease }: ClaimedDelivery) =>
  deliveries.recordAttempt({
    ...{ deliveryId: delivery.id, token: lease.token },
    attempt: { startedAt: NOW, durationMs: 1, outcome: refused() },
    state: { kind: 'pending', nextAttemptAt: NOW + MINUTE, step: 1 },
  })

const webhookIds = (claimed: readonly ClaimedDelivery[]): string[] =>
  claimed.map(({ webhook }) => webhook.id)

export function claimDueSuite(it: StorageTest): void {
  it('claims what is due, under a lease, with all that an attempt needs', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const webhook = await scene.webhook({ filter: { agentId: agent.id }, description: 'mine' })
    await scene.publish(agent, { body: '{"a":1}', createdAt: NOW + 1 })
    expect(await claimDue(storage, { now: NOW })).toEqual([])
    const [claimed] = await claimDue(storage, { now: NOW + 1, until: NOW + LEASE_MS })
    expect(claimed).toMatchObject({ webhook, body: '{"a":1}', lease: { until: NOW + LEASE_MS } })
    expect(claimed?.delivery.state).toEqual({
      kind: 'sending',
      leaseUntil: NOW + LEASE_MS,
      step: 0,
    })
    expect(
      (await storage.deliveries.get(agent.projectId, claimed?.delivery.id ?? ''))?.delivery,
    ).toEqual(claimed?.delivery)
  })

  it('ends the lease of each webhook by its timeout', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const plain = await scene.webhook()
    const slow = await scene.webhook({ sending: { timeoutMs: 40_000 } })
    const quick = await scene.webhook({ sending: { timeoutMs: 1_000 } })
    const terms = { until: NOW + 2 * MINUTE, timeoutMs: 15_000 }
    const ends = (claimed: readonly ClaimedDelivery[]) =>
      new Map(claimed.map(({ webhook, lease }) => [webhook.id, lease.until - terms.until]))
    const expected = new Map([
      [plain.id, 0],
      [slow.id, 25_000],
      [quick.id, -14_000],
    ])
    const born = await scene.publish(agent, {}, { ...terms, except: new Set<string>() })
    expect(ends(born)).toEqual(expected)
    await scene.publish(agent)
    const claimed = await claimDue(storage, terms)
    expect(ends(claimed)).toEqual(expected)
    for (const { delivery, lease } of claimed) {
      const found = await storage.deliveries.get(PROJECT_ID, delivery.id)
      expect(found?.delivery.state).toMatchObject({ leaseUntil: lease.until })
    }
  })

  it('counts the processes that send until their time is over', async ({ storage, second }) => {
    const register = (id: string, now: number, until = now + MINUTE) =>
      second.deliveries.registerSender({ id, now, until })
    expect(await storage.deliveries.registerSender({ id: 'b', now: NOW, until: NOW + 1 })).toEqual([
      'b',
    ])
    expect(await register('a', NOW)).toEqual(['a', 'b'])
    expect(await register('a', NOW + 1)).toEqual(['a'])
    expect(await register('a', NOW + 2, NOW + 2)).toEqual([])
  })

  it('claims nothing of a paused webhook, whose deliveries stay due', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const { id } = await scene.webhook({ isPaused: true })
    const claim = { until: NOW + LEASE_MS, except: new Set<string>() }
    expect(await scene.publish(agent, {}, claim)).toEqual([])
    expect(await claimDue(storage)).toEqual([])
    expect(
      await storage.deliveries.cancelStale({ now: NOW, dueBefore: NOW + 1, keep: 0, limit: 9 }),
    ).toBe(0)
    expect(await storage.deliveries.backlog(NOW)).toMatchObject({
      open: 1,
      due: 0,
      held: { paused: { count: 1 } },
    })
    await storage.webhooks.update(PROJECT_ID, id, { isPaused: false, updatedAt: NOW })
    expect(webhookIds(await claimDue(storage))).toEqual([id])
  })

  it('claims nothing twice while a lease lasts, and again under a new token when its sender let it end', async ({
    storage,
    scene,
  }) => {
    await scene.webhook()
    await scene.publish(await scene.agent())
    const [first] = await claimDue(storage)
    expect(await claimDue(storage, { now: NOW + LEASE_MS - 1 })).toEqual([])
    const [again] = await claimDue(storage, { now: NOW + LEASE_MS, until: NOW + 2 * LEASE_MS })
    expect(again?.delivery).toMatchObject({
      id: first?.delivery.id,
      attemptCount: 0,
      state: { step: 0 },
    })
    expect(again?.lease.token).not.toBe(first?.lease.token)
  })

  it('claims the oldest due of a webhook first', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await scene.webhook()
    for (const createdAt of [NOW + 2, NOW + 3, NOW + 1]) await scene.publish(agent, { createdAt })
    const times = []
    for (let turn = 0; turn < 3; turn++)
      times.push((await claimDue(storage, { now: NOW + 9, perWebhook: 1 }))[0]?.delivery.createdAt)
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

  it('claims at most the room of a webhook', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const narrow = await scene.webhook()
    const wide = await scene.webhook()
    await publishTimes(scene, agent, 5)
    const rooms = new Map([
      [narrow.id, 2],
      [wide.id, 9],
    ])
    const ids = webhookIds(await claimDue(storage, { rooms, perWebhook: 4 }))
    expect(ids.filter((id) => id === narrow.id)).toHaveLength(2)
    expect(ids.filter((id) => id === wide.id)).toHaveLength(4)
    const one = {
      ...CLAIM_ALL,
      rooms: new Map([
        [narrow.id, 1],
        [wide.id, 9],
      ]),
    }
    const claimed = await storage.deliveries.claimDue({ ...one, now: NOW, until: NOW + LEASE_MS })
    expect(claimed.skipped).toEqual([narrow.id])
    rooms.set(narrow.id, 0)
    expect(webhookIds(await claimDue(storage, { rooms }))).toEqual([])
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

  it('G6: goes round the webhooks, so that each has its turn however small the limit is', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const webhooks = [
      await scene.webhook(),
      await scene.webhook(),
      await scene.webhook(),
      await scene.webhook(),
    ]
    await publishTimes(scene, agent, 10)
    for (const round of [1, 2]) {
      const turns = []
      for (const _ of webhooks)
        turns.push(...webhookIds(await claimDue(storage, { limit: 2, perWebhook: 2 })))
      expect(new Set(turns).size, `webhooks served in round ${round}`).toBe(webhooks.length)
    }
  })

  it('G6: claims at most perProject of the webhooks of one project', async ({ storage, scene }) => {
    const agent = await scene.agent()
    for (let n = 0; n < 5; n++) await scene.webhook()
    await publishTimes(scene, agent, 4)
    const other = await scene.agent({ projectId: OTHER_PROJECT_ID })
    await scene.webhook({ projectId: OTHER_PROJECT_ID })
    await publishTimes(scene, other, 4)
    for (const round of [1, 2]) {
      const claimed = await claimDue(storage, { perProject: 3, limit: 6, perWebhook: 2 })
      const projects = claimed.map(({ delivery }) => delivery.projectId)
      const ofOther = projects.filter((id) => id === OTHER_PROJECT_ID)
      expect([projects.length, ofOther.length], `round ${round}`).toEqual([5, 2])
    }
    expect(await claimDue(storage, { perProject: 0 })).toEqual([])
  })

  it('limits the retries of a claim, and claims first attempts beyond that limit', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    await publishTimes(scene, agent, 5)
    for (const claimed of await claimDue(storage)) await failOnce(storage, claimed)
    await publishTimes(scene, agent, 5, NOW + 2 * MINUTE)
    const later = { now: NOW + 3 * MINUTE, until: NOW + 3 * MINUTE + LEASE_MS }
    const countsOf = (claimed: readonly ClaimedDelivery[]) =>
      claimed.map(({ delivery }) => delivery.attemptCount)
    expect(countsOf(await claimDue(storage, { ...later, retries: 2, limit: 4 }))).toEqual([
      1, 1, 0, 0,
    ])
    expect(countsOf(await claimDue(storage, { ...later, retries: 0 }))).toEqual([0, 0, 0])
    expect(countsOf(await claimDue(storage, later))).toEqual([1, 1, 1])
  })

  it('counts retries over all webhooks of a call', async ({ storage, scene }) => {
    const agent = await scene.agent()
    for (let n = 0; n < 3; n++) await scene.webhook()
    await publishTimes(scene, agent, 2)
    for (const claimed of await claimDue(storage)) await failOnce(storage, claimed)
    expect(await claimDue(storage, { now: NOW + MINUTE, retries: 3, perWebhook: 2 })).toHaveLength(
      3,
    )
  })

  it('claims the oldest due first, whether it was attempted before or not', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    await publishTimes(scene, agent, 1)
    for (const claimed of await claimDue(storage)) await failOnce(storage, claimed)
    await publishTimes(scene, agent, 1, NOW + MINUTE - 1)
    await publishTimes(scene, agent, 1, NOW + MINUTE + 1)
    const times = (await claimDue(storage, { now: NOW + 2 * MINUTE })).map(
      ({ delivery }) => delivery.createdAt,
    )
    expect(times).toEqual([NOW + MINUTE - 1, NOW, NOW + MINUTE + 1])
  })

  it('leaves out all webhooks of a project that the caller excepts', async ({ storage, scene }) => {
    await scene.webhook()
    const other = await scene.webhook({ projectId: OTHER_PROJECT_ID })
    await scene.publish(await scene.agent())
    const elsewhere = await scene.agent({ projectId: OTHER_PROJECT_ID })
    await scene.publish(elsewhere)
    expect(webhookIds(await claimDue(storage, { except: new Set([PROJECT_ID]) }))).toEqual([
      other.id,
    ])
    const born = await scene.publish(
      elsewhere,
      {},
      { until: NOW + LEASE_MS, except: new Set([OTHER_PROJECT_ID]) },
    )
    expect(born).toEqual([])
  })

  it('leaves out the webhooks that the caller excepts', async ({ storage, scene }) => {
    const [busy, free] = [await scene.webhook(), await scene.webhook()]
    await publishTimes(scene, await scene.agent(), 2)
    expect(webhookIds(await claimDue(storage, { except: new Set([busy.id]) }))).toEqual([
      free.id,
      free.id,
    ])
    expect(await claimDue(storage, { except: new Set([busy.id, free.id]) })).toEqual([])
    expect(webhookIds(await claimDue(storage))).toEqual([busy.id, busy.id])
  })

  it('leaves out disabled webhooks, and goes on where they were once they are enabled', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const webhook = await scene.webhook()
    await publishTimes(scene, agent, 2)
    const disabled = { kind: 'disabled', reason: 'operator', at: NOW } as const
    await storage.webhooks.update(agent.projectId, webhook.id, { status: disabled, updatedAt: NOW })
    await publishTimes(scene, agent, 1, NOW + SECOND)
    expect(await claimDue(storage, { now: NOW + MINUTE })).toEqual([])
    await storage.webhooks.update(agent.projectId, webhook.id, {
      status: { kind: 'enabled' },
      updatedAt: NOW + MINUTE,
    })
    expect(await claimDue(storage, { now: NOW + MINUTE, until: NOW + 2 * MINUTE })).toHaveLength(3)
  })

  it('uses the webhook as it is at the claim', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const { id } = await scene.webhook({ url: 'https://old.example' })
    await scene.publish(agent)
    await storage.webhooks.update(agent.projectId, id, {
      url: 'https://new.example',
      updatedAt: NOW + 1,
    })
    expect((await claimDue(storage))[0]?.webhook).toMatchObject({
      id,
      url: 'https://new.example',
      updatedAt: NOW + 1,
    })
  })

  it('no two instances get the same delivery', async ({ storage, second, scene }) => {
    for (let i = 0; i < 4; i++) await scene.webhook()
    await publishTimes(scene, await scene.agent(), 10)
    const claims = Array.from({ length: 10 }, (_, i) =>
      claimDue(i % 2 ? storage : second, { limit: 7, perWebhook: 3 }),
    )
    const ids = (await Promise.all(claims)).flat().map(({ delivery }) => delivery.id)
    expect(new Set(ids).size).toBe(ids.length)
    const rest = await claimDue(storage)
    expect(ids.length + rest.length).toBe(40)
  })
}
