import { expect } from 'vitest'
import {
  untried,
  type ClaimedDelivery,
  type RecoveryTask,
  type AttemptRecord,
} from '@org/agent-messaging-core/storage'
import { aRecovery, PROJECT_ID } from '../../builders.js'
import { fakeIds } from '../../fakes/fake-ids.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID, SECOND, UNKNOWN_ID } from '../scene.js'
import type { Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const nextDeliveryId = fakeIds().next

const claims = { ...CLAIM_ALL, until: NOW + LEASE_MS }
const later = NOW + MINUTE
const SETTLE = { limit: 9, now: later, pausedBefore: 0 }

/** Makes `count` exhausted deliveries of one webhook, and returns the webhook. */
async function exhausted(storage: UnwrappedStorage, scene: Scene, count: number) {
  const webhook = await scene.webhook()
  const agent = await scene.agent()
  for (let n = 0; n < count; n++) await scene.publish(agent)
  for (const { delivery, lease } of await storage.deliveries.claim({ ...claims, now: NOW }))
    await storage.deliveries.recordAttempt({
      deliveryId: delivery.id,
      token: lease.token,
      attempt: {
        startedAt: NOW,
        durationMs: 1,
        outcome: { kind: 'refused', statusCode: 500, responseBody: '' },
      },
      state: { kind: 'exhausted', exhaustedAt: NOW },
    })
  return webhook
}

async function created({ recoveries }: UnwrappedStorage, change: Partial<RecoveryTask> = {}) {
  const recovery = aRecovery(change)
  expect(await recoveries.create(recovery, 100)).toBe('created')
  return recovery
}

/** Does pages until none is left. Returns the ids of their recoveries. */
async function advanceAll({ recoveries }: UnwrappedStorage, limit: number): Promise<string[]> {
  const ids: string[] = []
  for (let now = later; ; now += SECOND) {
    const advanced = await recoveries.advance({ nextDeliveryId, limit, now })
    if (!advanced) return ids
    ids.push(advanced.id)
  }
}

const dueCount = async ({ deliveries }: UnwrappedStorage): Promise<number> =>
  (await deliveries.claim({ ...claims, now: later + MINUTE })).length

const NOTHING = { waiting: 0, failing: 0, delivered: 0, exhausted: 0, cancelled: 0 }
const refused = { kind: 'refused', statusCode: 500, responseBody: '' } as const
const accepted = { kind: 'accepted', statusCode: 200, responseBody: '' } as const

const claimAll = ({ deliveries }: UnwrappedStorage, now = later) =>
  deliveries.claim({ ...claims, now, until: now + LEASE_MS })

const recordEnd = (
  { deliveries }: UnwrappedStorage,
  { delivery, lease }: ClaimedDelivery,
  state: AttemptRecord['state'],
) =>
  deliveries.recordAttempt({
    deliveryId: delivery.id,
    token: lease.token,
    attempt: {
      startedAt: later,
      durationMs: 1,
      outcome: state.kind === 'delivered' ? accepted : refused,
    },
    state,
  })

const deliveredAt = (at: number) => ({ kind: 'delivered', deliveredAt: at }) as const
const exhaustedAt = (at: number) => ({ kind: 'exhausted', exhaustedAt: at }) as const

/** Starts a recovery of `count` exhausted deliveries, does all pages, and claims the deliveries. */
async function sending(storage: UnwrappedStorage, scene: Scene, count: number) {
  const webhook = await exhausted(storage, scene, count)
  const recovery = await created(storage)
  await advanceAll(storage, 100)
  const claimed = await claimAll(storage)
  expect(claimed).toHaveLength(count)
  const read = async (id = recovery.id) => {
    const found = await storage.recoveries.get(PROJECT_ID, id)
    if (!found) throw new Error('the recovery is gone')
    const { waiting, failing, delivered, exhausted: ended, cancelled } = found
    expect(waiting + failing + delivered + ended + cancelled).toBe(found.redelivered)
    return found
  }
  return { webhook, recovery, claimed, read }
}

export function recoveriesSuite(it: StorageTest): void {
  it('redelivers page by page, and stores its progress with each page', async ({
    storage,
    scene,
  }) => {
    const { recoveries } = storage
    await exhausted(storage, scene, 5)
    const recovery = await created(storage)
    expect(await recoveries.get(PROJECT_ID, recovery.id)).toEqual({ ...NOTHING, ...recovery })
    const first = await recoveries.advance({ nextDeliveryId, limit: 2, now: later })
    expect(first).toEqual({
      ...recovery,
      matched: 2,
      redelivered: 2,
      cursor: expect.any(String) as string,
    })
    expect(await recoveries.get(PROJECT_ID, recovery.id)).toEqual({
      ...NOTHING,
      ...first,
      waiting: 2,
    })
    await recoveries.advance({ nextDeliveryId, limit: 2, now: later })
    const last = { ...recovery, matched: 5, redelivered: 5 }
    expect(await recoveries.advance({ nextDeliveryId, limit: 2, now: later + 1 })).toEqual({
      ...last,
      state: { kind: 'sending' },
    })
    expect(await recoveries.advance({ nextDeliveryId, limit: 2, now: later })).toBeUndefined()
    expect(await dueCount(storage)).toBe(5)
  })

  it('does each page once, in any number of processes', async ({ storage, second, scene }) => {
    await exhausted(storage, scene, 40)
    const recovery = await created(storage)
    await Promise.all(
      [storage, second, storage, second].map((instance) => advanceAll(instance ?? storage, 3)),
    )
    await advanceAll(storage, 3)
    expect(await storage.recoveries.get(PROJECT_ID, recovery.id)).toMatchObject({
      state: { kind: 'sending' },
      matched: 40,
      redelivered: 40,
    })
  })

  it('takes turns with other recoveries', async ({ storage, scene }) => {
    await scene.webhook()
    const agent = await scene.agent()
    for (let n = 0; n < 3; n++) await scene.publish(agent)
    const filter = { status: 'pending', createdBefore: later } as const
    const [one, other] = [await created(storage, { filter }), await created(storage, { filter })]
    expect(await advanceAll(storage, 2)).toEqual([one.id, other.id, one.id, other.id])
    expect(await storage.recoveries.get(PROJECT_ID, other.id)).toMatchObject({
      matched: 3,
      redelivered: 0,
    })
  })

  it('redelivers only deliveries that match', async ({ storage, scene }) => {
    const webhook = await exhausted(storage, scene, 2)
    await scene.webhook()
    const filter = { status: 'exhausted', createdBefore: later } as const
    const none = await created(storage, { filter: { ...filter, createdBefore: NOW } })
    const all = await created(storage, { filter: { ...filter, webhookId: webhook.id } })
    const other = await created(storage, { projectId: OTHER_PROJECT_ID, filter })
    await advanceAll(storage, 10)
    const { recoveries } = storage
    expect((await recoveries.get(PROJECT_ID, none.id))?.matched).toBe(0)
    expect((await recoveries.get(PROJECT_ID, all.id))?.matched).toBe(2)
    expect((await recoveries.get(OTHER_PROJECT_ID, other.id))?.matched).toBe(0)
  })

  it('finds failed deliveries, with and without retries left', async ({ storage, scene }) => {
    const { claimed, read } = await sending(storage, scene, 4)
    const [one, two, three] = claimed
    if (!one || !two || !three) throw new Error('no delivery was claimed')
    await recordEnd(storage, one, exhaustedAt(later))
    await recordEnd(storage, two, { kind: 'pending', nextAttemptAt: later + MINUTE, step: 1 })
    await recordEnd(storage, three, deliveredAt(later))
    const filter = { status: 'failed', createdBefore: later } as const
    const { data } = await storage.deliveries.list(
      { projectId: PROJECT_ID, ...filter },
      { limit: 9 },
    )
    expect(data.map(({ id }) => id)).toEqual(
      [one, two]
        .map(({ delivery }) => delivery.id)
        .toSorted()
        .toReversed(),
    )
    const { id } = await created(storage, { filter })
    await advanceAll(storage, 100)
    expect(await read(id)).toMatchObject({ matched: 2, redelivered: 2, waiting: 2 })
  })

  it('sends the others when the first was accepted', async ({ storage, scene }) => {
    const { recoveries } = storage
    await exhausted(storage, scene, 3)
    const { id } = await created(storage, { state: { kind: 'trying' } })
    expect(await advanceAll(storage, 100)).toEqual([id])
    const [first, ...others] = await claimAll(storage)
    expect(others).toEqual([])
    if (!first) throw new Error('no delivery was claimed')
    expect(await recoveries.advance({ nextDeliveryId, limit: 9, now: later })).toBeUndefined()
    expect(await recoveries.decide(PROJECT_ID, id, 'continue', later)).toBe('too_late')
    await recordEnd(storage, first, deliveredAt(later))
    expect(await recoveries.settle(SETTLE)).toEqual([])
    await advanceAll(storage, 100)
    expect(await recoveries.get(PROJECT_ID, id)).toMatchObject({
      state: { kind: 'sending' },
      delivered: 1,
      waiting: 2,
    })
  })

  it('pauses when the first was not accepted, until a decision', async ({ storage, scene }) => {
    const { recoveries } = storage
    await exhausted(storage, scene, 3)
    const { id } = await created(storage, { state: { kind: 'trying' } })
    await advanceAll(storage, 100)
    const [first] = await claimAll(storage)
    if (!first) throw new Error('no delivery was claimed')
    await recordEnd(storage, first, { kind: 'pending', nextAttemptAt: later + MINUTE, step: 1 })
    expect(await advanceAll(storage, 100)).toEqual([id])
    expect(await recoveries.get(PROJECT_ID, id)).toMatchObject({
      state: { kind: 'paused' },
      triedDeliveryId: first.delivery.id,
      redelivered: 1,
      failing: 1,
    })
    expect(await recoveries.create(aRecovery(), 1)).toBe('limit_reached')
    expect(await recoveries.settle(SETTLE)).toEqual([])
    expect(await recoveries.decide(PROJECT_ID, id, 'continue', later)).toMatchObject({
      state: { kind: 'running' },
    })
    await advanceAll(storage, 100)
    expect(await recoveries.get(PROJECT_ID, id)).toMatchObject({ redelivered: 3, waiting: 2 })
  })

  it('is cancelled when nobody decides in time', async ({ storage, scene }) => {
    const { recoveries } = storage
    await exhausted(storage, scene, 2)
    const { id } = await created(storage, { state: { kind: 'trying' } })
    await advanceAll(storage, 100)
    const [first] = await claimAll(storage)
    if (!first) throw new Error('no delivery was claimed')
    await recordEnd(storage, first, { kind: 'pending', nextAttemptAt: later + MINUTE, step: 1 })
    await recoveries.advance({ nextDeliveryId, limit: 9, now: later + 5 })
    const at = later + 2 * MINUTE
    expect(await recoveries.settle({ limit: 9, now: at, pausedBefore: later + 5 })).toEqual([])
    expect(await recoveries.get(PROJECT_ID, id)).toMatchObject({ state: { kind: 'paused' } })
    expect(await recoveries.settle({ limit: 9, now: at, pausedBefore: later + 6 })).toEqual([])
    const cancelled = { state: { kind: 'cancelled', finishedAt: at } }
    expect(await recoveries.get(PROJECT_ID, id)).toMatchObject({ ...cancelled, failing: 1 })
    expect(await recoveries.create(aRecovery(), 1)).toBe('created')
    await storage.deliveries.cancel(PROJECT_ID, first.delivery.id, at)
    expect(await recoveries.settle(SETTLE)).toMatchObject([{ id, ...cancelled, cancelled: 1 }])
  })

  it('tries the first that is not due, and lets only its webhook be probed', async ({
    storage,
    scene,
  }) => {
    const circuit = { kind: 'open', until: later + MINUTE, trips: 1 } as const
    const health = { ...untried, circuit }
    const webhook = await scene.webhook()
    const agent = await scene.agent()
    for (let n = 0; n < 2; n++) await scene.publish(agent)
    for (const { delivery, lease } of await claimAll(storage, NOW))
      await storage.deliveries.recordAttempt({
        deliveryId: delivery.id,
        token: lease.token,
        attempt: { startedAt: NOW, durationMs: 1, outcome: refused },
        state: { kind: 'pending', nextAttemptAt: later + MINUTE, step: 1 },
        decideHealth: ({ updatedAt }) => ({ change: { health, updatedAt } }),
      })
    const other = await scene.webhook({ health })
    for (let n = 0; n < 3; n++) await scene.publish(agent)
    const filter = { status: 'pending', createdBefore: later } as const
    const { id } = await created(storage, { filter, state: { kind: 'trying' } })
    expect(
      await storage.recoveries.advance({ nextDeliveryId, limit: 99, now: later }),
    ).toMatchObject({
      id,
      state: { kind: 'trying' },
      matched: 7,
      redelivered: 1,
    })
    expect(
      await storage.recoveries.advance({ nextDeliveryId, limit: 99, now: later }),
    ).toBeUndefined()
    const read = async (of: { readonly id: string }) =>
      (await storage.webhooks.get(PROJECT_ID, of.id))?.health.circuit
    expect(await read(webhook)).toEqual({ ...circuit, until: later })
    expect(await read(other)).toEqual(circuit)
  })

  it('tries the next when a try ends without an attempt', async ({ storage, scene }) => {
    const { recoveries, deliveries } = storage
    await exhausted(storage, scene, 3)
    const { id } = await created(storage, { state: { kind: 'trying' } })
    await advanceAll(storage, 100)
    const { data } = await deliveries.list(
      { projectId: PROJECT_ID, status: 'pending' },
      { limit: 9 },
    )
    await deliveries.cancel(PROJECT_ID, data[0]?.id ?? '', later)
    expect(await advanceAll(storage, 100)).toEqual([id])
    const [second, ...others] = await claimAll(storage)
    expect(others).toEqual([])
    if (!second) throw new Error('no delivery was claimed')
    await recordEnd(storage, second, { kind: 'pending', nextAttemptAt: later + MINUTE, step: 1 })
    await advanceAll(storage, 100)
    const tried = { triedDeliveryId: second.delivery.id, triedAttempt: 2 }
    const paused = { state: { kind: 'paused' }, redelivered: 2, ...tried }
    expect(await recoveries.get(PROJECT_ID, id)).toMatchObject({ ...paused, failing: 1 })
    const [again] = await claimAll(storage, later + 2 * MINUTE)
    if (!again) throw new Error('no delivery was claimed')
    await recordEnd(storage, again, deliveredAt(later + 2 * MINUTE))
    expect(await recoveries.get(PROJECT_ID, id)).toMatchObject({ ...paused, delivered: 1 })
  })

  it('knows the end of a try that was deleted', async ({ storage, scene }) => {
    const { recoveries, deliveries } = storage
    await exhausted(storage, scene, 3)
    const { id } = await created(storage, { state: { kind: 'trying' } })
    await advanceAll(storage, 100)
    const [claimed] = await claimAll(storage)
    if (!claimed) throw new Error('no delivery was claimed')
    await recordEnd(storage, claimed, deliveredAt(NOW - 1))
    expect(await deliveries.purge({ finishedBefore: NOW, limit: 9 })).toBe(1)
    await recoveries.advance({ nextDeliveryId, limit: 100, now: later })
    expect(await recoveries.get(PROJECT_ID, id)).toMatchObject({
      state: { kind: 'running' },
      delivered: 1,
    })
  })

  it('never pauses before an attempt, in any number of processes', async ({
    storage,
    second,
    scene,
  }) => {
    await exhausted(storage, scene, 20)
    const both = [storage, second]
    for (let round = 0; round < 10; round++) {
      const { id } = await created(storage, { state: { kind: 'trying' } })
      await Promise.all(
        [...both, ...both, ...both].map(({ recoveries }) =>
          recoveries.advance({ nextDeliveryId, limit: 9, now: later }),
        ),
      )
      expect(await storage.recoveries.get(PROJECT_ID, id)).toMatchObject({
        state: { kind: 'trying' },
        redelivered: 1,
      })
      await storage.recoveries.decide(PROJECT_ID, id, 'cancel', later)
    }
  })

  it('fails when its webhook is deleted', async ({ storage, scene }) => {
    const webhook = await exhausted(storage, scene, 3)
    const recovery = await created(storage, {
      filter: { status: 'exhausted', createdBefore: later, webhookId: webhook.id },
    })
    await storage.recoveries.advance({ nextDeliveryId, limit: 2, now: later })
    await storage.webhooks.delete(PROJECT_ID, webhook.id)
    expect(
      await storage.recoveries.advance({ nextDeliveryId, limit: 2, now: later }),
    ).toMatchObject({
      id: recovery.id,
      state: { kind: 'failed', finishedAt: later, reason: 'webhook_deleted' },
      redelivered: 2,
    })
    expect(
      await storage.recoveries.advance({ nextDeliveryId, limit: 2, now: later }),
    ).toBeUndefined()
  })

  it('counts its deliveries as they are, until it is done', async ({ storage, scene }) => {
    const { recovery, claimed, read } = await sending(storage, scene, 5)
    expect(await read()).toEqual({
      ...NOTHING,
      ...recovery,
      matched: 5,
      redelivered: 5,
      waiting: 5,
      state: { kind: 'sending' },
    })
    const [one, two, three, four, five] = claimed as [
      ClaimedDelivery,
      ClaimedDelivery,
      ClaimedDelivery,
      ClaimedDelivery,
      ClaimedDelivery,
    ]
    const again = { kind: 'pending', nextAttemptAt: later + MINUTE, step: 1 } as const
    await recordEnd(storage, one, deliveredAt(later + 1))
    await recordEnd(storage, two, again)
    await recordEnd(storage, three, exhaustedAt(later + 9))
    await storage.deliveries.cancel(PROJECT_ID, four.delivery.id, later + 2)
    expect(await read()).toMatchObject({
      state: { kind: 'sending' },
      waiting: 1,
      failing: 1,
      delivered: 1,
      exhausted: 1,
      cancelled: 1,
    })
    expect(await storage.recoveries.settle(SETTLE)).toEqual([])
    await recordEnd(storage, five, deliveredAt(later + 3))
    expect(await read()).toMatchObject({ waiting: 0, failing: 1, delivered: 2 })
    const [last] = await claimAll(storage, later + 2 * MINUTE)
    expect(await read()).toMatchObject({ waiting: 0, failing: 1 })
    if (last) await recordEnd(storage, last, deliveredAt(later + 2 * MINUTE))
    const done = {
      ...NOTHING,
      ...recovery,
      matched: 5,
      redelivered: 5,
      delivered: 3,
      exhausted: 1,
      cancelled: 1,
      state: { kind: 'done', finishedAt: later + 2 * MINUTE },
    }
    expect(await read()).toEqual(done)
    expect(await storage.recoveries.settle(SETTLE)).toEqual([done])
    expect(await storage.recoveries.settle(SETTLE)).toEqual([])
    const named = { projectId: PROJECT_ID, deliveryId: one.delivery.id }
    await storage.deliveries.redeliver(named, { limit: 1 }, later)
    expect(await read()).toEqual(done)
  })

  it('stays done, although its deliveries are sent again before it is settled', async ({
    storage,
    scene,
  }) => {
    const { claimed, read } = await sending(storage, scene, 3)
    const [one, two, three] = claimed
    if (!one || !two || !three) throw new Error('no delivery was claimed')
    await recordEnd(storage, one, deliveredAt(later + 9))
    await recordEnd(storage, two, exhaustedAt(later + 3))
    await recordEnd(storage, three, deliveredAt(later + 2))
    const done = await read()
    expect(done).toMatchObject({
      state: { kind: 'done', finishedAt: later + 9 },
      delivered: 2,
      exhausted: 1,
    })
    const named = { projectId: PROJECT_ID, deliveryId: one.delivery.id }
    await storage.deliveries.redeliver(named, { limit: 1 }, later + 10)
    expect(await read()).toEqual(done)
    await created(storage, { filter: { status: 'delivered', createdBefore: later } })
    await advanceAll(storage, 100)
    expect(await read()).toEqual(done)
    expect(await storage.recoveries.settle(SETTLE)).toEqual([done])
    expect(await read()).toEqual(done)
  })

  it('counts a delivery for the newest recovery only', async ({ storage, scene }) => {
    const { claimed, read } = await sending(storage, scene, 3)
    const [one, two] = claimed
    if (!one || !two) throw new Error('no delivery was claimed')
    await recordEnd(storage, one, exhaustedAt(later))
    await recordEnd(storage, two, { kind: 'pending', nextAttemptAt: later + MINUTE, step: 1 })
    const filter = { createdBefore: later }
    const newer = [
      await created(storage, { filter: { ...filter, status: 'exhausted' } }),
      await created(storage, { filter: { ...filter, status: 'pending' } }),
    ]
    await advanceAll(storage, 100)
    expect(await read()).toMatchObject({ waiting: 1, failing: 0, exhausted: 1, cancelled: 1 })
    for (const { id } of newer)
      expect(await read(id)).toMatchObject({ ...NOTHING, redelivered: 1, waiting: 1 })
  })

  it('keeps the counts of deliveries that are purged or erased', async ({ storage, scene }) => {
    const { claimed, read, recovery } = await sending(storage, scene, 3)
    const [one, two, three] = claimed
    if (!one || !two || !three) throw new Error('no delivery was claimed')
    await recordEnd(storage, one, deliveredAt(later))
    await recordEnd(storage, two, exhaustedAt(later))
    expect(await storage.deliveries.purge({ finishedBefore: later + 1, limit: 9 })).toBe(2)
    expect(await read()).toMatchObject({ waiting: 1, delivered: 1, exhausted: 1 })
    await recordEnd(storage, three, deliveredAt(later + 1))
    expect(await read()).toMatchObject({
      delivered: 2,
      state: { kind: 'done', finishedAt: later + 1 },
    })
    await storage.recoveries.settle(SETTLE)
    await storage.deliveries.purge({ finishedBefore: later + 2, limit: 9 })
    expect(await read()).toMatchObject({ delivered: 2, exhausted: 1 })
    for (let n = 0; n < 3; n++)
      await storage.recoveries.purge({ finishedBefore: later + 2, limit: 1 })
    expect(await storage.recoveries.get(PROJECT_ID, recovery.id)).toBeUndefined()
    expect(await storage.recoveries.purge({ finishedBefore: later + 2, limit: 1 })).toBe(0)
  })

  it('is settled once, in any number of processes', async ({ storage, second, scene }) => {
    await scene.webhook()
    const all = [await created(storage), await created(storage)]
    await advanceAll(storage, 100)
    const settled = await Promise.all(
      [storage, second ?? storage].map(({ recoveries }) => recoveries.settle(SETTLE)),
    )
    const ids = [...settled.flat(), ...(await storage.recoveries.settle(SETTLE))]
    expect(ids.map(({ id }) => id).toSorted()).toEqual(all.map(({ id }) => id).toSorted())
  })

  it('is cancelled once, for good', async ({ storage, scene }) => {
    await exhausted(storage, scene, 3)
    const { recoveries } = storage
    const recovery = await created(storage)
    await recoveries.advance({ nextDeliveryId, limit: 2, now: later })
    const cancelled = await recoveries.decide(PROJECT_ID, recovery.id, 'cancel', later)
    expect(cancelled).toMatchObject({
      state: { kind: 'cancelled', finishedAt: later },
      redelivered: 2,
    })
    expect(await recoveries.get(PROJECT_ID, recovery.id)).toEqual(cancelled)
    expect(await recoveries.decide(PROJECT_ID, recovery.id, 'cancel', later)).toBe('too_late')
    expect(await recoveries.advance({ nextDeliveryId, limit: 2, now: later })).toBeUndefined()
    expect(cancelled).toMatchObject({ waiting: 2 })
    expect(await recoveries.settle(SETTLE)).toEqual([])
    expect(await recoveries.purge({ finishedBefore: later + 1, limit: 9 })).toBe(0)
    const due = await claimAll(storage)
    for (const claimed of due) await recordEnd(storage, claimed, deliveredAt(later + 1))
    expect(await recoveries.settle(SETTLE)).toMatchObject([
      { state: { kind: 'cancelled', finishedAt: later }, delivered: 2, waiting: 0 },
    ])
    expect(due).toHaveLength(2)
  })

  it('is created once, up to the limit of running ones', async ({ storage: { recoveries } }) => {
    const [one, two, three] = [aRecovery(), aRecovery(), aRecovery()]
    expect(await recoveries.create(one, 1)).toBe('created')
    expect(await recoveries.create(one, 1)).toBe('created')
    expect(await recoveries.create(two, 1)).toBe('limit_reached')
    expect(await recoveries.create(aRecovery({ projectId: OTHER_PROJECT_ID }), 1)).toBe('created')
    await recoveries.decide(PROJECT_ID, one.id, 'cancel', later)
    expect(await recoveries.create(three, 1)).toBe('created')
    expect((await recoveries.list(PROJECT_ID, { limit: 9 })).data.map(({ id }) => id)).toEqual([
      three.id,
      one.id,
    ])
  })

  it('is listed newest first, in pages', async ({ storage }) => {
    const all = [await created(storage), await created(storage), await created(storage)]
    const { data, nextCursor } = await storage.recoveries.list(PROJECT_ID, { limit: 2 })
    const shown = all.map((one) => ({ ...NOTHING, ...one }))
    expect(data).toEqual([shown[2], shown[1]])
    expect(
      await storage.recoveries.list(PROJECT_ID, { limit: 2, cursor: nextCursor ?? '' }),
    ).toEqual({ data: [shown[0]], nextCursor: null })
  })

  it('is deleted after its retention, but never while it runs', async ({ storage }) => {
    const { recoveries } = storage
    const [done, running] = [await created(storage), await created(storage)]
    await recoveries.decide(PROJECT_ID, done.id, 'cancel', NOW)
    expect(await recoveries.purge({ finishedBefore: NOW + 1, limit: 9 })).toBe(0)
    expect(await recoveries.settle(SETTLE)).toMatchObject([{ id: done.id }])
    expect(await recoveries.purge({ finishedBefore: NOW, limit: 9 })).toBe(0)
    expect(await recoveries.purge({ finishedBefore: NOW + 1, limit: 9 })).toBe(1)
    expect(await recoveries.get(PROJECT_ID, done.id)).toBeUndefined()
    expect(await recoveries.get(PROJECT_ID, running.id)).toEqual({ ...NOTHING, ...running })
  })

  it('G6: recoveries of another project are not there, and not cancelled', async ({ storage }) => {
    const recovery = await created(storage)
    const { recoveries } = storage
    expect(await recoveries.get(OTHER_PROJECT_ID, recovery.id)).toBeUndefined()
    expect((await recoveries.list(OTHER_PROJECT_ID, { limit: 9 })).data).toEqual([])
    expect(await recoveries.decide(OTHER_PROJECT_ID, recovery.id, 'cancel', NOW)).toBeUndefined()
    expect(await recoveries.decide(PROJECT_ID, UNKNOWN_ID, 'cancel', NOW)).toBeUndefined()
    expect(await recoveries.get(PROJECT_ID, recovery.id)).toEqual({ ...NOTHING, ...recovery })
  })
}
