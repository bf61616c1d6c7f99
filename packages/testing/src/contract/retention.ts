import { expect } from 'vitest'
import type { Agent } from '@org/agent-messaging-core'
import type {
  AfterAttempt,
  WebhookEvent,
  ClaimedDelivery,
  ClaimedMessage,
} from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../builders.js'
import { accepted, refused } from '../fakes/fake-sender.js'
import { CLAIM_ALL, heldBy, LEASE_MS, MINUTE, NOW, SECOND, type Scene } from './scene.js'
import type { StorageTest } from './storage-test.js'
import type { UnwrappedStorage } from './unwrapped.js'

const LATER = NOW + 1_000 * MINUTE

/** Makes one delivery for each webhook, and claims them. */
async function claimed(
  scene: Scene,
  storage: UnwrappedStorage,
  agent: Agent,
  event?: Partial<WebhookEvent>,
): Promise<ClaimedDelivery[]> {
  await scene.publish(agent, event)
  return storage.deliveries.claim({ ...CLAIM_ALL, now: NOW, until: NOW + LEASE_MS })
}

const record = (
  { deliveries }: UnwrappedStorage,
  { delivery, lease }: ClaimedDelivery,
  state: AfterAttempt,
) =>
  deliveries.recordAttempt({
    ...{ deliveryId: delivery.id, token: lease.token, state },
    attempt: {
      startedAt: NOW,
      durationMs: 1,
      outcome: state.kind === 'delivered' ? accepted() : refused(),
    },
  })

const deliver = async (
  storage: UnwrappedStorage,
  claims: readonly ClaimedDelivery[],
  deliveredAt = NOW,
): Promise<void> => {
  for (const claim of claims) await record(storage, claim, { kind: 'delivered', deliveredAt })
}

const deliveryIds = async ({ deliveries }: UnwrappedStorage): Promise<string[]> =>
  (await deliveries.list({ projectId: PROJECT_ID }, { limit: 100 })).data.map(({ id }) => id)

const purgeAll = async ({ deliveries, messages }: UnwrappedStorage) => {
  const query = { finishedBefore: LATER, limit: 100 }
  return [await deliveries.purge(query), (await messages.purge({ ...query, now: NOW })).removed]
}

export function deliveryRetentionSuite(it: StorageTest): void {
  it('purges what was final before a time, the oldest first, a bounded number at a time', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const ids = []
    for (const at of [3, 1, 2, 4, 5]) {
      const claims = await claimed(scene, storage, agent)
      await deliver(storage, claims, NOW + at)
      ids.push(...claims.map(({ delivery }) => delivery.id))
    }
    const purge = (limit: number) => storage.deliveries.purge({ finishedBefore: NOW + 5, limit })
    expect(await purge(2)).toBe(2)
    expect(await deliveryIds(storage)).toEqual([ids[4], ids[3], ids[0]])
    expect([await purge(1), await purge(9), await purge(9)]).toEqual([1, 1, 0])
    expect(await deliveryIds(storage)).toEqual([ids[4]])
    expect(await storage.deliveries.get(PROJECT_ID, ids[1] ?? '')).toBeUndefined()
  })

  it('purges the exhausted and the cancelled too, with their attempts', async ({
    storage,
    scene,
  }) => {
    const [agent] = [await scene.agent(), await scene.webhook(), await scene.webhook()]
    const [one, other] = (await claimed(scene, storage, agent)) as [
      ClaimedDelivery,
      ClaimedDelivery,
    ]
    await record(storage, one, { kind: 'exhausted', exhaustedAt: NOW })
    await storage.deliveries.cancel(PROJECT_ID, other.delivery.id, NOW)
    expect(await purgeAll(storage)).toEqual([2, 0])
    expect(await deliveryIds(storage)).toEqual([])
  })

  it('never purges what is open, however old it is', async ({ storage, scene }) => {
    const [agent] = [await scene.agent(), await scene.webhook()]
    const [backingOff] = (await claimed(scene, storage, agent)) as [ClaimedDelivery]
    await record(storage, backingOff, { kind: 'pending', nextAttemptAt: NOW + SECOND, step: 1 })
    const [sending] = (await claimed(scene, storage, agent)) as [ClaimedDelivery]
    await scene.publish(agent)
    const before = await deliveryIds(storage)
    expect(before).toHaveLength(3)
    expect(await purgeAll(storage)).toEqual([0, 0])
    expect(await deliveryIds(storage)).toEqual(before)
    await deliver(storage, [sending])
    expect(await purgeAll(storage)).toEqual([1, 0])
  })

  it('keeps the body of an event for as long as one of its deliveries is there', async ({
    storage,
    scene,
  }) => {
    const [agent] = [await scene.agent(), await scene.webhook(), await scene.webhook()]
    const [one, other] = (await claimed(scene, storage, agent, { body: 'shared' })) as [
      ClaimedDelivery,
      ClaimedDelivery,
    ]
    await deliver(storage, [one])
    expect(await purgeAll(storage)).toEqual([1, 0])
    const [again] = await storage.deliveries.claim({
      ...CLAIM_ALL,
      now: NOW + LEASE_MS,
      until: LATER,
    })
    expect(again).toMatchObject({ body: 'shared', delivery: { id: other.delivery.id } })
    await deliver(storage, [again as ClaimedDelivery])
    expect(await purgeAll(storage)).toEqual([1, 0])
  })

  it('leaves nothing to redeliver, to cancel or to record', async ({ storage, scene }) => {
    const [agent] = [await scene.agent(), await scene.webhook()]
    const [claim] = (await claimed(scene, storage, agent)) as [ClaimedDelivery]
    await deliver(storage, [claim])
    await purgeAll(storage)
    const { id } = claim.delivery
    expect(
      await storage.deliveries.redeliver(
        { projectId: PROJECT_ID, deliveryId: id },
        { limit: 1 },
        NOW,
      ),
    ).toMatchObject({ count: 0 })
    expect(await storage.deliveries.cancel(PROJECT_ID, id, NOW)).toBeUndefined()
    expect(await record(storage, claim, { kind: 'delivered', deliveredAt: NOW })).toEqual({
      kind: 'lease_lost',
    })
  })

  it('starts again for a redelivered delivery', async ({ storage, scene }) => {
    const [agent] = [await scene.agent(), await scene.webhook()]
    const [claim] = (await claimed(scene, storage, agent)) as [ClaimedDelivery]
    await deliver(storage, [claim])
    await storage.deliveries.redeliver(
      { projectId: PROJECT_ID, deliveryId: claim.delivery.id },
      { limit: 1 },
      NOW,
    )
    expect(await purgeAll(storage)).toEqual([0, 0])
    await deliver(
      storage,
      await storage.deliveries.claim({ ...CLAIM_ALL, now: NOW, until: LATER }),
      NOW + MINUTE,
    )
    expect(await storage.deliveries.purge({ finishedBefore: NOW + MINUTE, limit: 9 })).toBe(0)
    expect(await purgeAll(storage)).toEqual([1, 0])
  })

  it('leaves cursors where they were', async ({ storage, scene }) => {
    const [agent] = [await scene.agent(), await scene.webhook()]
    const [first] = (await claimed(scene, storage, agent)) as [ClaimedDelivery]
    const [second] = (await claimed(scene, storage, agent)) as [ClaimedDelivery]
    const [third] = (await claimed(scene, storage, agent)) as [ClaimedDelivery]
    await deliver(storage, [second])
    await purgeAll(storage)
    const from = async (cursor: string) =>
      (await storage.deliveries.list({ projectId: PROJECT_ID }, { limit: 9, cursor })).data
    expect((await from(second.delivery.id)).map(({ id }) => id)).toEqual([first.delivery.id])
    await deliver(storage, [first, third])
    await purgeAll(storage)
    expect(await from(third.delivery.id)).toEqual([])
    const [fourth] = (await claimed(scene, storage, agent)) as [ClaimedDelivery]
    expect(await from(third.delivery.id)).toEqual([])
    expect(await deliveryIds(storage)).toEqual([fourth.delivery.id])
  })
}

export function messageRetentionSuite(it: StorageTest): void {
  const fail = ({ messages }: UnwrappedStorage, claim: ClaimedMessage, failedAt: number) =>
    messages.recordRun({
      ...heldBy(claim),
      state: { kind: 'failed', error: { code: 'RUNTIME_ERROR', message: '' }, failedAt },
      now: failedAt,
    })

  it('purges the answered and the failed, a bounded number at a time', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const ids = []
    for (const at of [2, 1, 3]) {
      const claim = await scene.run(agent)
      await (at === 1 ? fail(storage, claim, NOW + at) : scene.answer(claim, NOW + at))
      ids.push(claim.message.id)
    }
    const left = async () =>
      (
        await storage.messages.list({ projectId: PROJECT_ID, agentId: agent.id }, { limit: 9 })
      ).data.map(({ id }) => id)
    const purge = async (limit: number) =>
      (await storage.messages.purge({ finishedBefore: NOW + 3, limit, now: NOW })).removed
    expect(await purge(1)).toBe(1)
    expect(await left()).toHaveLength(2)
    expect([await purge(9), await purge(9)]).toEqual([1, 0])
    expect(await left()).toEqual([ids[2]])
  })

  it('never purges what is queued, running, deferred or to be tried again', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const running = await scene.run(agent, { sessionId: 'a' })
    await scene.send(agent, { sessionId: 'a' })
    const deferred = await scene.run(agent, { sessionId: 'b' })
    await storage.messages.defer({
      ...heldBy(deferred),
      state: { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + SECOND },
    })
    const failed = await scene.run(agent, { sessionId: 'c' })
    await storage.messages.recordRun({
      ...heldBy(failed),
      state: { kind: 'queued', notBefore: NOW },
      now: NOW,
    })
    expect(await purgeAll(storage)).toEqual([0, 0])
    expect(await scene.reread(running.message)).toBeDefined()
    expect(await scene.claim(agent, LATER)).toHaveLength(3)
  })

  it('purges messages that earlier purges found open or too young', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const open = await scene.run(agent, { sessionId: 'open' })
    const young = await scene.run(agent, { sessionId: 'young' })
    await scene.answer(young, NOW + MINUTE)
    const purge = async (finishedBefore: number, limit: number) =>
      (await storage.messages.purge({ finishedBefore, limit, now: NOW + SECOND })).removed
    for (const limit of [1, 1, 9]) expect(await purge(NOW + MINUTE, limit)).toBe(0)
    await scene.answer(open, NOW + SECOND)
    expect(await purge(NOW + MINUTE, 9)).toBe(1)
    expect(await scene.reread(young.message)).toBeDefined()
    expect(await purge(NOW + MINUTE + 1, 9)).toBe(1)
  })

  it('lets the session go on, and frees the idempotency key', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const first = await scene.run(agent, { idempotencyKey: 'key' })
    await scene.answer(first)
    expect(await purgeAll(storage)).toEqual([0, 1])
    expect(await scene.reread(first.message)).toBeUndefined()
    const second = await scene.run(agent, { idempotencyKey: 'key' })
    expect(second.message.id).not.toBe(first.message.id)
    expect(
      await storage.messages.recordRun({
        ...heldBy(first),
        state: { kind: 'queued', notBefore: NOW },
        now: NOW,
      }),
    ).toEqual({
      kind: 'lease_lost',
    })
    const third = await scene.send(agent)
    await scene.answer(second)
    expect(await purgeAll(storage)).toEqual([0, 1])
    expect((await scene.claim(agent)).map(({ message }) => message.id)).toEqual([third.id])
  })

  it('keeps the order of a session of which only the first are gone', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const first = await scene.run(agent)
    const [second, third] = [await scene.send(agent), await scene.send(agent)]
    await scene.answer(first)
    expect(await purgeAll(storage)).toEqual([0, 1])
    const [claim] = (await scene.claim(agent)) as [ClaimedMessage]
    expect(claim.message.id).toBe(second.id)
    await scene.answer(claim)
    expect((await scene.claim(agent)).map(({ message }) => message.id)).toEqual([third.id])
  })

  it('leaves no turn of a purged message, and no row of a session without messages', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const first = await scene.run(agent)
    await storage.messages.rememberSession({ ...heldBy(first), sessionState: 'told' })
    const second = await scene.send(agent)
    await scene.answer(first)
    expect(await purgeAll(storage)).toEqual([0, 1])
    expect(
      await storage.messages.history({ messageId: second.id, maxTurns: 9, maxLength: 1_000 }),
    ).toEqual([])
    const [claim] = (await scene.claim(agent)) as [ClaimedMessage]
    expect(claim.sessionState).toBe('told')
    await scene.answer(claim)
    expect(await purgeAll(storage)).toEqual([0, 1])
    expect(
      (
        await storage.messages.listSessions(
          { projectId: PROJECT_ID, agentId: agent.id },
          { limit: 9 },
        )
      ).data,
    ).toEqual([])
    expect((await scene.run(agent)).sessionState).toBeUndefined()
  })

  it('leaves the deliveries of the answer alone', async ({ storage, scene }) => {
    const [agent] = [await scene.agent(), await scene.webhook()]
    await scene.publish(agent)
    await scene.answer(await scene.run(agent))
    expect(await purgeAll(storage)).toEqual([0, 1])
    expect(await deliveryIds(storage)).toHaveLength(1)
  })
}
