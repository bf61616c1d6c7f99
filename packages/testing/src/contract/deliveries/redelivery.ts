import { expect } from 'vitest'
import type { ClaimedDelivery } from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { accepted, refused } from '../../fakes/fake-sender.js'
import {
  CLAIM_ALL,
  LEASE_MS,
  MINUTE,
  NOW,
  OTHER_PROJECT_ID,
  SECOND,
  UNKNOWN_ID,
  type Scene,
} from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const claims = { ...CLAIM_ALL, until: NOW + LEASE_MS }
const project = { projectId: PROJECT_ID }

async function claim({ deliveries }: UnwrappedStorage, now = NOW): Promise<ClaimedDelivery> {
  const [claimed] = await deliveries.claim({ ...claims, now, until: now + LEASE_MS })
  if (!claimed) throw new Error(`nothing is due at ${now}`)
  return claimed
}

const record = (
  { deliveries }: UnwrappedStorage,
  { delivery, lease }: ClaimedDelivery,
  outcome = refused(),
  step = 1,
) => {
  const state =
    outcome.kind === 'accepted'
      ? ({ kind: 'delivered', deliveredAt: NOW } as const)
      : ({ kind: 'pending', nextAttemptAt: NOW + MINUTE, step } as const)
  return deliveries.recordAttempt({
    deliveryId: delivery.id,
    token: lease.token,
    attempt: { startedAt: NOW, durationMs: 1, outcome },
    state,
  })
}

/** A delivery that failed once and waits for its next attempt, in a minute. */
async function waiting(storage: UnwrappedStorage, scene: Scene): Promise<ClaimedDelivery> {
  await scene.webhook()
  await scene.publish(await scene.agent())
  const claimed = await claim(storage)
  await record(storage, claimed)
  return claimed
}

const reread = async ({ deliveries }: UnwrappedStorage, { delivery }: ClaimedDelivery) =>
  (await deliveries.get(delivery.projectId, delivery.id))?.delivery

export function redeliverySuite(it: StorageTest): void {
  it('gives an open delivery an extra attempt now, and remembers its place and time in the schedule', async ({
    storage,
    scene,
  }) => {
    const first = await waiting(storage, scene)
    const filter = { ...project, deliveryId: first.delivery.id }
    expect(await storage.deliveries.redeliver(filter, { limit: 1 }, NOW + SECOND)).toEqual({
      matched: 1,
      count: 1,
      nextCursor: null,
    })
    const resumeAt = NOW + MINUTE
    expect((await reread(storage, first))?.state).toEqual({
      kind: 'pending',
      nextAttemptAt: NOW + SECOND,
      step: 1,
      resumeAt,
    })
    const extra = await claim(storage, NOW + SECOND)
    expect(extra.delivery.state).toMatchObject({ kind: 'sending', step: 1, resumeAt })
    await record(storage, extra)
    expect((await reread(storage, first))?.state).toEqual({
      kind: 'pending',
      nextAttemptAt: NOW + MINUTE,
      step: 1,
    })
  })

  it('gives a final delivery a fresh schedule, and numbers its attempts on', async ({
    storage,
    scene,
  }) => {
    const first = await waiting(storage, scene)
    await record(storage, await claim(storage, NOW + MINUTE), accepted())
    await storage.deliveries.redeliver(
      { ...project, deliveryId: first.delivery.id },
      { limit: 1 },
      NOW + 2 * MINUTE,
    )
    expect(await reread(storage, first)).toMatchObject({
      attemptCount: 2,
      state: { kind: 'pending', step: 0, nextAttemptAt: NOW + 2 * MINUTE },
    })
    await record(storage, await claim(storage, NOW + 2 * MINUTE), accepted())
    const detail = await storage.deliveries.get(PROJECT_ID, first.delivery.id)
    expect(detail?.attempts.map(({ attemptNumber }) => attemptNumber)).toEqual([1, 2, 3])
  })

  it('leaves deliveries alone that are being sent or are due already', async ({
    storage,
    scene,
  }) => {
    await scene.webhook()
    await scene.publish(await scene.agent())
    expect(await storage.deliveries.redeliver(project, { limit: 10 }, NOW)).toEqual({
      matched: 1,
      count: 0,
      nextCursor: null,
    })
    const claimed = await claim(storage)
    expect(await storage.deliveries.redeliver(project, { limit: 10 }, NOW)).toEqual({
      matched: 1,
      count: 0,
      nextCursor: null,
    })
    expect(await record(storage, claimed, accepted())).toEqual({ kind: 'recorded' })
  })

  it('recovers what matches, page by page, and nothing else', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const [one, other] = [await scene.webhook(), await scene.webhook()]
    for (let n = 0; n < 5; n++) await scene.publish(agent, { createdAt: NOW + n * SECOND })
    for (const claimed of await storage.deliveries.claim({ ...claims, now: NOW + MINUTE }))
      await record(storage, claimed, accepted())
    const filter = {
      ...project,
      webhookId: one.id,
      status: 'delivered',
      createdAfter: NOW + SECOND,
      createdBefore: NOW + 4 * SECOND,
    } as const
    const first = await storage.deliveries.redeliver(filter, { limit: 2 }, NOW + MINUTE)
    expect(first).toEqual({ matched: 2, count: 2, nextCursor: expect.any(String) as string })
    const rest = await storage.deliveries.redeliver(
      filter,
      { limit: 2, cursor: first.nextCursor ?? '' },
      NOW + MINUTE,
    )
    expect(rest).toEqual({ matched: 1, count: 1, nextCursor: null })
    const due = await storage.deliveries.claim({ ...claims, now: NOW + MINUTE })
    expect(due.map(({ webhook }) => webhook.id)).toEqual([one.id, one.id, one.id])
    expect(due.map(({ webhook }) => webhook.id)).not.toContain(other.id)
  })

  it('does not bring back deliveries of a deleted webhook', async ({ storage, scene }) => {
    const first = await waiting(storage, scene)
    await storage.webhooks.delete(PROJECT_ID, first.webhook.id)
    await storage.deliveries.cancelOrphans({ now: NOW, limit: 10 })
    expect(await storage.deliveries.redeliver(project, { limit: 10 }, NOW)).toEqual({
      matched: 0,
      count: 0,
      nextCursor: null,
    })
    expect((await reread(storage, first))?.state).toEqual({
      kind: 'cancelled',
      cancelledAt: NOW,
      reason: 'webhook_deleted',
    })
  })

  it('cancels an open delivery once, for good, and says who did', async ({ storage, scene }) => {
    const first = await waiting(storage, scene)
    const cancelled = { kind: 'cancelled', cancelledAt: NOW + SECOND, reason: 'operator' }
    expect(
      await storage.deliveries.cancel(PROJECT_ID, first.delivery.id, NOW + SECOND),
    ).toMatchObject({ state: cancelled })
    expect(await storage.deliveries.cancel(PROJECT_ID, first.delivery.id, NOW + MINUTE)).toBe(
      'already_final',
    )
    expect(await storage.deliveries.claim({ ...claims, now: NOW + 2 * MINUTE })).toEqual([])
    expect((await reread(storage, first))?.state).toEqual(cancelled)
  })

  it('refuses the outcome of an attempt that a cancellation overtook', async ({
    storage,
    scene,
  }) => {
    await scene.webhook()
    await scene.publish(await scene.agent())
    const claimed = await claim(storage)
    await storage.deliveries.cancel(PROJECT_ID, claimed.delivery.id, NOW)
    expect(await record(storage, claimed, accepted())).toEqual({ kind: 'lease_lost' })
  })

  it('G6: does nothing to deliveries of another project, or to none', async ({
    storage,
    scene,
  }) => {
    const first = await waiting(storage, scene)
    const { id } = first.delivery
    expect(
      await storage.deliveries.redeliver(
        { projectId: OTHER_PROJECT_ID, deliveryId: id },
        { limit: 1 },
        NOW,
      ),
    ).toMatchObject({
      count: 0,
    })
    expect(await storage.deliveries.cancel(OTHER_PROJECT_ID, id, NOW)).toBeUndefined()
    expect(await storage.deliveries.cancel(PROJECT_ID, UNKNOWN_ID, NOW)).toBeUndefined()
    expect((await reread(storage, first))?.state.kind).toBe('pending')
  })
}
