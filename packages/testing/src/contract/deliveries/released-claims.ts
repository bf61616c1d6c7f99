import { expect } from 'vitest'
import type { Agent, Webhook } from '@org/agent-messaging-core'
import type { Outcome } from '@org/agent-messaging-core/runtime'
import {
  freezeEvent,
  untried,
  type AfterAttempt,
  type ClaimedDelivery,
  type ReleasedClaim,
} from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { accepted, refused } from '../../fakes/fake-sender.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, UNKNOWN_ID, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const delivered = { kind: 'delivered', deliveredAt: NOW } as const
const pending = { kind: 'pending', nextAttemptAt: NOW + MINUTE, step: 1 } as const

const heldOf = ({ delivery, lease, webhook }: ClaimedDelivery): ReleasedClaim => ({
  ...{ deliveryId: delivery.id, token: lease.token },
  isProbe: webhook.health.circuit.kind === 'open',
})

/** Deliveries that are born claimed. */
async function sending(scene: Scene, count: number): Promise<ClaimedDelivery[]> {
  const agent = await scene.agent()
  await scene.webhook()
  const born = Array.from({ length: count }, () =>
    scene.publish(agent, {}, { until: NOW + LEASE_MS, except: new Set() }),
  )
  return (await Promise.all(born)).flat()
}

const claimAll = ({ deliveries }: UnwrappedStorage, now = NOW) =>
  deliveries.claim({ ...CLAIM_ALL, now, until: now + LEASE_MS })

const record = (
  { deliveries }: UnwrappedStorage,
  claimed: ClaimedDelivery,
  outcome: Outcome,
  state: AfterAttempt,
) =>
  deliveries.recordAttempt({
    ...heldOf(claimed),
    attempt: { startedAt: NOW, durationMs: 1, outcome },
    state,
  })

async function reread({ deliveries }: UnwrappedStorage, { delivery }: ClaimedDelivery) {
  return (await deliveries.get(delivery.projectId, delivery.id))?.delivery
}

/** Of an event on behalf of this end user. */
function forEndUser(agent: Agent, endUserId: string) {
  const about = {
    messageId: agent.id,
    agentId: agent.id,
    sessionId: 'session',
    response: 'Hi',
    metadata: {},
    responseTimeMs: 1,
  }
  const data = { ...about, executionPrincipal: { type: 'end_user', endUserId } as const }
  const { name, body } = freezeEvent(
    { event: 'message.responded', data },
    agent.id,
    agent.projectId,
    NOW,
  )
  return { name, body }
}

const idsOf = (claims: readonly ClaimedDelivery[]): string[] =>
  claims.map(({ delivery }) => delivery.id).sort()

export function releasedClaimsSuite(it: StorageTest): void {
  it('makes released deliveries due at once, and leaves other claims alone', async ({
    storage,
    scene,
  }) => {
    const [one, two, ...rest] = (await sending(scene, 4)) as [
      ClaimedDelivery,
      ClaimedDelivery,
      ...ClaimedDelivery[],
    ]
    expect(await storage.deliveries.release([one, two].map(heldOf), NOW + 1)).toBe(2)
    const { leaseUntil: _, ...place } = one.delivery.state
    expect(await reread(storage, one)).toEqual({
      ...one.delivery,
      state: { ...place, kind: 'pending', nextAttemptAt: NOW + 1 },
    })
    expect(await claimAll(storage, NOW)).toEqual([])
    const claimed = await claimAll(storage, NOW + 1)
    expect(idsOf(claimed)).toEqual(idsOf([one, two]))
    for (const claim of rest)
      expect(await record(storage, claim, refused(), pending)).toEqual({ kind: 'recorded' })
    for (const claim of claimed)
      expect(await record(storage, claim, refused(), pending)).toEqual({ kind: 'recorded' })
  })

  it('counts no attempt: a retry and an extra attempt keep their place in the schedule', async ({
    storage,
    scene,
  }) => {
    const [first] = (await sending(scene, 1)) as [ClaimedDelivery]
    await record(storage, first, refused(), pending)
    await storage.deliveries.redeliver({ projectId: first.delivery.projectId }, { limit: 9 }, NOW)
    const [extra] = (await claimAll(storage)) as [ClaimedDelivery]
    await storage.deliveries.release([heldOf(extra)], NOW)
    const [again] = await claimAll(storage)
    expect(again?.delivery).toMatchObject({
      attemptCount: 1,
      state: { step: 1, resumeAt: NOW + MINUTE },
    })
  })

  it('refuses a failure under a released claim, and accepts a success', async ({
    storage,
    scene,
  }) => {
    const [failed, taken] = (await sending(scene, 2)) as [ClaimedDelivery, ClaimedDelivery]
    await storage.deliveries.release([failed, taken].map(heldOf), NOW)
    expect(await record(storage, failed, refused(), pending)).toEqual({ kind: 'lease_lost' })
    expect(await record(storage, taken, accepted(), delivered)).toEqual({ kind: 'recorded' })
    expect(idsOf(await claimAll(storage))).toEqual(idsOf([failed]))
  })

  it('gives up nothing twice, nor what another has, is final or is not there', async ({
    storage,
    scene,
  }) => {
    const [released, superseded, cancelled, done] = await sending(scene, 4)
    if (!released || !superseded || !cancelled || !done)
      throw new Error('fewer deliveries than webhooks')
    await storage.deliveries.cancel(cancelled.delivery.projectId, cancelled.delivery.id, NOW)
    await record(storage, done, accepted(), delivered)
    await storage.deliveries.release([heldOf(superseded)], NOW)
    const [newer] = await claimAll(storage)
    await storage.deliveries.release([heldOf(released)], NOW)
    const before = await Promise.all(
      [released, superseded, cancelled, done].map((claim) => reread(storage, claim)),
    )
    const claims = [
      ...[released, superseded, cancelled, done].map(heldOf),
      { deliveryId: UNKNOWN_ID, token: 1, isProbe: true },
    ]
    expect(await storage.deliveries.release(claims, NOW + MINUTE)).toBe(0)
    expect(
      await Promise.all(
        [released, superseded, cancelled, done].map((claim) => reread(storage, claim)),
      ),
    ).toEqual(before)
    expect(before[1]).toEqual(newer?.delivery)
  })

  it('lets the next look probe again once a probe is given up, and nothing else does', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const halfOpen = { kind: 'open', until: NOW, trips: 2 } as const
    const webhook = await scene.webhook({
      health: { ...untried, consecutiveFailures: 6, circuit: halfOpen },
    })
    await scene.publish(agent)
    await scene.publish(agent, { createdAt: NOW + 1 })
    const [probe] = (await claimAll(storage)) as [ClaimedDelivery]
    await storage.deliveries.release([{ ...heldOf(probe), token: probe.lease.token + 1 }], NOW + 1)
    expect(await claimAll(storage, NOW + 1)).toEqual([])
    await storage.deliveries.release([heldOf(probe)], NOW + 1)
    const { health } = (await storage.webhooks.get(PROJECT_ID, webhook.id)) as Webhook
    expect(health).toEqual({ ...webhook.health, circuit: { ...halfOpen, until: NOW + 1 } })
    const [next, ...more] = await claimAll(storage, NOW + 1)
    expect([next?.webhook.health.circuit, more]).toEqual([
      { ...halfOpen, until: NOW + 1 + LEASE_MS },
      [],
    ])
  })

  it('leaves a circuit alone that opened, or that another probe holds, since what is given up was claimed', async ({
    storage,
    scene,
  }) => {
    const [before] = (await sending(scene, 1)) as [ClaimedDelivery]
    // To the very end of its lease, as a receiver can ask for it.
    const open = { ...untried, circuit: { kind: 'open', until: NOW + LEASE_MS, trips: 1 } } as const
    await storage.webhooks.update(PROJECT_ID, before.webhook.id, { health: open, updatedAt: NOW })
    await storage.deliveries.release([heldOf(before)], NOW + 1)
    expect((await storage.webhooks.get(PROJECT_ID, before.webhook.id))?.health).toEqual(open)
    const [probe] = (await claimAll(storage, NOW + LEASE_MS)) as [ClaimedDelivery]
    const longer = {
      ...open,
      circuit: { ...open.circuit, until: NOW + 2 * LEASE_MS + MINUTE, trips: 2 },
    }
    await storage.webhooks.update(PROJECT_ID, probe.webhook.id, { health: longer, updatedAt: NOW })
    await storage.deliveries.release([heldOf(probe)], NOW + LEASE_MS)
    expect((await storage.webhooks.get(PROJECT_ID, before.webhook.id))?.health).toEqual(longer)
  })

  it('lets the next look probe once a probe was cancelled or erased while it was being sent', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const halfOpen = { kind: 'open', until: NOW, trips: 2 } as const
    const webhook = await scene.webhook({
      health: { ...untried, consecutiveFailures: 6, circuit: halfOpen },
    })
    for (const at of [0, 1, 2])
      await scene.publish(agent, {
        createdAt: NOW + at,
        ...forEndUser(agent, at === 1 ? 'u' : 'v'),
      })

    const [first] = (await claimAll(storage)) as [ClaimedDelivery]
    await storage.deliveries.cancel(PROJECT_ID, first.delivery.id, NOW + 1)
    const [second, ...none] = (await claimAll(storage, NOW + 1)) as [ClaimedDelivery]
    expect([second.webhook.health.circuit, none]).toEqual([
      { ...halfOpen, until: NOW + 1 + LEASE_MS },
      [],
    ])

    const step = {
      projectId: PROJECT_ID,
      endUserId: 'u',
      countOnly: true,
      after: 0,
      limit: 9,
      now: NOW + 2,
    }
    await storage.deliveries.erasePrincipal(step)
    expect(await claimAll(storage, NOW + 2)).toEqual([])
    expect(await storage.deliveries.erasePrincipal({ ...step, countOnly: false })).toEqual({
      deliveries: 1,
    })
    const [third] = await claimAll(storage, NOW + 2)
    expect(third?.webhook).toEqual({
      ...webhook,
      health: { ...webhook.health, circuit: { ...halfOpen, until: NOW + 2 + LEASE_MS } },
    })
  })

  it('leaves the circuit to its probe when another delivery of its webhook is cancelled or erased', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const born = { until: NOW + MINUTE, except: new Set<string>() }
    const webhook = await scene.webhook()
    const [sent] = (await scene.publish(agent, forEndUser(agent, 'u'), born)) as [ClaimedDelivery]
    const [erased] = (await scene.publish(agent, forEndUser(agent, 'v'), born)) as [ClaimedDelivery]
    await scene.publish(agent, forEndUser(agent, 'w'))
    const open = { ...untried, circuit: { kind: 'open', until: NOW, trips: 1 } } as const
    await storage.webhooks.update(PROJECT_ID, webhook.id, { health: open, updatedAt: NOW })
    const [probe] = (await claimAll(storage)) as [ClaimedDelivery]
    await storage.deliveries.cancel(PROJECT_ID, sent.delivery.id, NOW + 1)
    await storage.deliveries.erasePrincipal({
      projectId: PROJECT_ID,
      endUserId: 'v',
      countOnly: false,
      after: 0,
      limit: 9,
      now: NOW + 1,
    })
    expect(await reread(storage, erased)).toBeUndefined()
    expect((await storage.webhooks.get(PROJECT_ID, webhook.id))?.health).toEqual(
      probe.webhook.health,
    )
  })

  it('has nothing to say about no claims', async ({ storage }) => {
    expect(await storage.deliveries.release([], NOW)).toBe(0)
  })
}
