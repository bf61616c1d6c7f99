import { expect } from 'vitest'
import type { Webhook } from '@org/agent-messaging-core'
import {
  untried,
  type WebhookChange,
  type WebhookHealth,
  type ClaimedDelivery,
  type Outgoing,
  type WebhookUpdate,
} from '@org/agent-messaging-core/storage'
import { anEvent, PROJECT_ID } from '../../builders.js'
import { accepted, refused } from '../../fakes/fake-sender.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID, SECOND, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const failing: WebhookHealth = {
  ...{
    consecutiveFailures: 6,
    failingSince: NOW - MINUTE,
    lastSuccessAt: NOW - 2 * MINUTE,
    lastFailureAt: NOW,
  },
  circuit: { kind: 'open', until: NOW + MINUTE, trips: 2 },
  reportedFailingSince: NOW - MINUTE,
}
const openUntil = (until: number): Partial<Webhook> => ({
  health: { ...failing, circuit: { kind: 'open', until, trips: 2 } },
})
const gone = { kind: 'disabled', reason: 'gone', at: NOW } as const
const change: WebhookChange = { health: failing, status: gone, updatedAt: NOW + 7 }

const claimDue = ({ deliveries }: UnwrappedStorage, now = NOW): Promise<ClaimedDelivery[]> =>
  deliveries.claim({ ...CLAIM_ALL, now, until: now + LEASE_MS })

async function claimOne(storage: UnwrappedStorage, scene: Scene): Promise<ClaimedDelivery> {
  await scene.publish(await scene.agent())
  const [claimed] = await claimDue(storage)
  if (!claimed) throw new Error('nothing is due')
  return claimed
}

const record = (
  { deliveries }: UnwrappedStorage,
  { delivery, lease }: ClaimedDelivery,
  decideHealth: (webhook: Webhook) => WebhookUpdate | undefined,
) =>
  deliveries.recordAttempt({
    ...{ deliveryId: delivery.id, token: lease.token, decideHealth },
    attempt: { startedAt: NOW, durationMs: 1, outcome: refused() },
    state: { kind: 'pending', nextAttemptAt: NOW + MINUTE, step: 1 },
  })

const disabledEvent = (scene: Scene, of: Webhook): Outgoing => {
  const event = anEvent(
    { id: '', projectId: of.projectId },
    { name: 'webhook.disabled', body: '{"gone":1}', createdAt: NOW },
  )
  const { agentId: _, ...ofNoAgent } = event
  return { ...scene.outgoing(ofNoAgent), notTo: of.id }
}

const deliveriesOf = async (
  { deliveries }: UnwrappedStorage,
  webhookId: string,
  projectId = PROJECT_ID,
) => (await deliveries.list({ projectId, webhookId }, { limit: 100 })).data

export function webhookHealthSuite(it: StorageTest): void {
  it('keeps how a webhook does, whole', async ({ storage, scene }) => {
    const webhook = await scene.webhook({ health: failing, status: gone, disableOnGone: true })
    expect(await storage.webhooks.get(PROJECT_ID, webhook.id)).toEqual(webhook)
    const calm = await storage.webhooks.update(PROJECT_ID, webhook.id, {
      health: untried,
      disableOnGone: false,
      updatedAt: NOW,
    })
    expect(calm).toEqual({ ...webhook, health: untried, disableOnGone: false, updatedAt: NOW })
    expect(await storage.webhooks.get(PROJECT_ID, webhook.id)).toEqual(calm)
  })

  it('judges a webhook as it is in the commit of the attempt, and keeps the verdict', async ({
    storage,
    scene,
  }) => {
    const { id } = await scene.webhook()
    const claimed = await claimOne(storage, scene)
    const before = await storage.webhooks.update(PROJECT_ID, id, {
      url: 'https://new.example',
      updatedAt: NOW + 1,
    })
    const seen: Webhook[] = []
    const answer = await record(storage, claimed, (webhook) => {
      seen.push(webhook)
      return { change }
    })
    expect(seen.at(-1)).toEqual(before)
    expect(answer).toEqual({
      kind: 'recorded',
      webhook: { before, after: { ...before, ...change } },
    })
    expect(await storage.webhooks.get(PROJECT_ID, id)).toEqual({ ...before, ...change })
  })

  it('changes no webhook without a verdict, nor for an attempt that it refuses', async ({
    storage,
    scene,
  }) => {
    const webhook = await scene.webhook()
    const claimed = await claimOne(storage, scene)
    expect(await record(storage, claimed, () => undefined)).toEqual({ kind: 'recorded' })
    expect(await record(storage, claimed, () => ({ change }))).toEqual({ kind: 'lease_lost' })
    expect(await storage.webhooks.get(PROJECT_ID, webhook.id)).toEqual(webhook)
  })

  it('judges in the order in which it is told, however many at once', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const { id: webhookId } = await scene.webhook()
    for (let n = 0; n < 25; n++) await scene.publish(agent)
    const told = (await claimDue(storage)).map(({ delivery, lease }, n) => {
      const isFailure = n % 2 === 0
      return storage.deliveries.recordAttempt({
        ...{ deliveryId: delivery.id, token: lease.token, receiverId: webhookId },
        attempt: { startedAt: NOW, durationMs: 1, outcome: isFailure ? refused() : accepted() },
        state: isFailure
          ? { kind: 'pending', nextAttemptAt: NOW + MINUTE, step: 1 }
          : { kind: 'delivered', deliveredAt: NOW },
        decideHealth: ({ health: { consecutiveFailures, circuit }, updatedAt }) => {
          if (!isFailure && consecutiveFailures === 0) return undefined
          return {
            change: {
              health: { consecutiveFailures: isFailure ? consecutiveFailures + 1 : 0, circuit },
              updatedAt,
            },
          }
        },
      })
    })
    expect(await Promise.all(told)).toHaveLength(25)
    expect((await storage.webhooks.get(PROJECT_ID, webhookId))?.health.consecutiveFailures).toBe(1)
  })

  it('does not decideHealth a webhook that was deleted', async ({ storage, scene }) => {
    const { id } = await scene.webhook()
    const claimed = await claimOne(storage, scene)
    await storage.webhooks.delete(PROJECT_ID, id)
    expect(await record(storage, claimed, () => ({ change }))).toEqual({ kind: 'recorded' })
    expect(await storage.webhooks.get(PROJECT_ID, id)).toBeUndefined()
  })

  it("G3: commits a verdict's event with it, to the project's other webhooks", async ({
    storage,
    scene,
  }) => {
    const webhook = await scene.webhook()
    const claimed = await claimOne(storage, scene)
    const other = await scene.webhook({ events: ['webhook.disabled'] })
    const stranger = await scene.webhook({ projectId: OTHER_PROJECT_ID })
    await record(storage, claimed, () => ({ change, outgoing: disabledEvent(scene, webhook) }))
    expect(await claimDue(storage)).toMatchObject([
      { webhook: { id: other.id }, body: '{"gone":1}', delivery: { event: 'webhook.disabled' } },
    ])
    expect(await deliveriesOf(storage, webhook.id)).toHaveLength(1)
    expect(await deliveriesOf(storage, stranger.id, OTHER_PROJECT_ID)).toEqual([])
  })

  it('G3: of attempts that end at once each is judged after the one before, so that one disables', async ({
    storage,
    second,
    scene,
  }) => {
    const webhook = await scene.webhook()
    const agent = await scene.agent()
    for (let n = 0; n < 10; n++) await scene.publish(agent)
    const claims = await claimDue(storage)
    const other = await scene.webhook({ events: ['webhook.disabled'] })
    const decideHealth = ({ health, updatedAt, status }: Webhook): WebhookUpdate => {
      const next = {
        health: { ...health, consecutiveFailures: health.consecutiveFailures + 1 },
        updatedAt,
      }
      if (next.health.consecutiveFailures < 5 || status.kind === 'disabled') return { change: next }
      return { change: { ...next, status: gone }, outgoing: disabledEvent(scene, webhook) }
    }
    await Promise.all(
      claims.map((claimed, i) => record(i % 2 ? storage : second, claimed, decideHealth)),
    )
    expect(await storage.webhooks.get(PROJECT_ID, webhook.id)).toMatchObject({
      status: gone,
      health: { consecutiveFailures: 10 },
    })
    expect(await deliveriesOf(storage, other.id)).toHaveLength(1)
  })

  it('G3: of attempts of two processes that end at once, one reports a circuit and one its end', async ({
    storage,
    second,
    scene,
  }) => {
    const webhook = await scene.webhook()
    const agent = await scene.agent()
    for (let n = 0; n < 16; n++) await scene.publish(agent)
    const claims = await claimDue(storage)
    const other = await scene.webhook({ events: ['webhook.failing', 'webhook.recovered'] })
    const eventOf = (name: 'webhook.failing' | 'webhook.recovered'): Outgoing => {
      const { agentId: _, ...event } = anEvent({ id: '', projectId: PROJECT_ID }, { name })
      return { ...scene.outgoing(event), notTo: webhook.id }
    }
    const fails = ({ health, updatedAt }: Webhook): WebhookUpdate =>
      health.reportedFailingSince === undefined
        ? { change: { health: failing, updatedAt }, outgoing: eventOf('webhook.failing') }
        : { change: { health, updatedAt } }
    const recovers = ({ health, updatedAt }: Webhook): WebhookUpdate =>
      health.reportedFailingSince === undefined
        ? { change: { health, updatedAt } }
        : { change: { health: untried, updatedAt }, outgoing: eventOf('webhook.recovered') }
    const named = async () => (await deliveriesOf(storage, other.id)).map(({ event }) => event)
    const end = (some: readonly ClaimedDelivery[], decide: typeof fails) =>
      Promise.all(some.map((claimed, i) => record(i % 2 ? storage : second, claimed, decide)))
    await end(claims.slice(0, 8), fails)
    expect(await named()).toEqual(['webhook.failing'])
    await end(claims.slice(8), recovers)
    expect(await named()).toEqual(['webhook.recovered', 'webhook.failing'])
    expect((await storage.webhooks.get(PROJECT_ID, webhook.id))?.health).toEqual(untried)
    expect(await deliveriesOf(storage, webhook.id)).toHaveLength(16)
  })

  it('claims nothing of a webhook whose circuit is open, until its time', async ({
    storage,
    scene,
  }) => {
    await scene.webhook(openUntil(NOW + MINUTE))
    await scene.publish(await scene.agent())
    expect(await claimDue(storage, NOW + MINUTE - 1)).toEqual([])
    expect(await claimDue(storage, NOW + MINUTE)).toHaveLength(1)
  })

  it('claims one delivery of a half-open one, the oldest due, and holds its circuit open while that lease lasts', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const webhook = await scene.webhook(openUntil(NOW))
    for (const createdAt of [NOW - 1, NOW - 3, NOW - 2]) await scene.publish(agent, { createdAt })
    const [probe, ...more] = await claimDue(storage)
    expect(more).toEqual([])
    expect(probe?.delivery.createdAt).toBe(NOW - 3)
    const held = { ...webhook, ...openUntil(NOW + LEASE_MS) }
    expect(probe?.webhook).toEqual(held)
    expect(await storage.webhooks.get(PROJECT_ID, webhook.id)).toEqual(held)
    expect(await claimDue(storage, NOW + LEASE_MS - 1)).toEqual([])
    expect(await claimDue(storage, NOW + LEASE_MS)).toHaveLength(1)
  })

  it('claims a delivery with an earlier attempt as the probe, if one is due', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const webhook = await scene.webhook()
    await scene.publish(agent, { createdAt: NOW })
    const [tried] = await claimDue(storage)
    if (!tried) throw new Error('no delivery is due')
    const health = { ...failing, circuit: { kind: 'open', until: NOW, trips: 1 } } as const
    await record(storage, tried, ({ updatedAt }) => ({ change: { health, updatedAt } }))
    await scene.publish(agent, { createdAt: NOW + 1 })
    await scene.publish(agent, { createdAt: NOW + 2 })
    const early = await claimDue(storage, NOW + SECOND)
    expect(early.map(({ delivery }) => delivery.createdAt)).toEqual([NOW + 1])
    await storage.webhooks.update(PROJECT_ID, webhook.id, { health, updatedAt: NOW })
    const probes = await claimDue(storage, NOW + MINUTE)
    expect(probes.map(({ delivery }) => delivery.id)).toEqual([tried.delivery.id])
  })

  it('moves no circuit where nothing is due', async ({ storage, scene }) => {
    const webhook = await scene.webhook(openUntil(NOW))
    await scene.publish(await scene.agent(), { createdAt: NOW + 1 })
    expect(await claimDue(storage)).toEqual([])
    expect(await storage.webhooks.get(PROJECT_ID, webhook.id)).toEqual(webhook)
  })

  it('gives one probe to one of two instances that claim at once', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook(openUntil(NOW))
    for (let n = 0; n < 20; n++) await scene.publish(agent)
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, i) => claimDue(i % 2 ? storage : second)),
    )
    expect(claims.flat()).toHaveLength(1)
  })

  it('claims all of a webhook again once a probe closed its circuit', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook(openUntil(NOW))
    for (let n = 0; n < 5; n++) await scene.publish(agent)
    const [probe] = await claimDue(storage)
    if (!probe) throw new Error('nothing is due')
    await storage.deliveries.recordAttempt({
      ...{ deliveryId: probe.delivery.id, token: probe.lease.token },
      attempt: { startedAt: NOW, durationMs: 1, outcome: accepted() },
      state: { kind: 'delivered', deliveredAt: NOW },
      decideHealth: ({ updatedAt }) => ({ change: { health: untried, updatedAt } }),
    })
    expect(await claimDue(storage)).toHaveLength(4)
  })

  it.for([NOW - 1, NOW + MINUTE])(
    'no delivery to a webhook whose circuit is not closed is born claimed (until %i)',
    async (until, { storage, scene }) => {
      const [, closed] = [await scene.webhook(openUntil(until)), await scene.webhook()]
      const born = await scene.publish(
        await scene.agent(),
        {},
        { until: NOW + LEASE_MS, except: new Set() },
      )
      expect(born.map(({ webhook }) => webhook.id)).toEqual([closed.id])
      expect(await claimDue(storage, NOW + MINUTE)).toMatchObject([
        { delivery: { state: { kind: 'sending' } } },
        {},
      ])
    },
  )

  it('deliveries are born by the present state of the webhook, after a change by any process', async ({
    storage,
    second,
    scene,
  }) => {
    const [agent, { id, updatedAt }] = [await scene.agent(), await scene.webhook()]
    const born = () => scene.publish(agent, {}, { until: NOW + LEASE_MS, except: new Set() })
    const [first] = await born()
    if (!first) throw new Error('nothing was born claimed')
    await second.webhooks.update(PROJECT_ID, id, { url: 'https://moved.example', updatedAt })
    expect(await born()).toMatchObject([{ webhook: { id, url: 'https://moved.example' } }])
    await record(storage, first, () => ({ change: { health: failing, updatedAt } }))
    expect(await born()).toEqual([])
  })

  it('a test event and a redelivery make an open circuit half-open', async ({ storage, scene }) => {
    const [tested, redelivered, left] = [
      await scene.webhook(openUntil(NOW + MINUTE)),
      await scene.webhook(openUntil(NOW + MINUTE)),
      await scene.webhook(openUntil(NOW + MINUTE)),
    ]
    await scene.publish(await scene.agent())
    await storage.deliveries.publishTo(
      tested.id,
      anEvent({ id: '', projectId: PROJECT_ID }, { createdAt: NOW }),
      tested.id,
    )
    await storage.deliveries.redeliver(
      { projectId: PROJECT_ID, webhookId: redelivered.id },
      { limit: 10 },
      NOW,
    )
    const circuits = await Promise.all(
      [tested, redelivered, left].map(({ id }) => storage.webhooks.get(PROJECT_ID, id)),
    )
    expect(circuits).toEqual([
      { ...tested, ...openUntil(NOW) },
      { ...redelivered, ...openUntil(NOW) },
      left,
    ])
    expect(await claimDue(storage, NOW + SECOND)).toHaveLength(2)
  })

  it('a test event that is born claimed is the probe, and holds the circuit', async ({
    storage,
    scene,
  }) => {
    const { id } = await scene.webhook(openUntil(NOW + MINUTE))
    await scene.publish(await scene.agent())
    const until = NOW + LEASE_MS
    const claim = { until, except: new Set<string>() }
    const test = (eventId: string) =>
      anEvent({ id: '', projectId: PROJECT_ID }, { id: eventId, createdAt: NOW })
    const published = await storage.deliveries.publishTo(id, test(id), id, claim)
    const [claimed] = published?.claims.deliveries ?? []
    if (!claimed) throw new Error('nothing was born claimed')
    expect(claimed).toMatchObject({ lease: { until }, webhook: { id, ...openUntil(until) } })
    expect(published?.delivery).toMatchObject({ id, state: { kind: 'sending', leaseUntil: until } })
    expect(await storage.webhooks.get(PROJECT_ID, id)).toMatchObject(openUntil(until))
    expect(await claimDue(storage, NOW + SECOND)).toEqual([])
    const release = { deliveryId: id, token: claimed.lease.token, isProbe: true }
    expect(await storage.deliveries.release([release], NOW + SECOND)).toBe(1)
    expect(await storage.webhooks.get(PROJECT_ID, id)).toMatchObject(openUntil(NOW + SECOND))
  })

  it('a test event of a full, paused or healthy webhook is claimed as any other', async ({
    storage,
    scene,
  }) => {
    const [healthy, full, paused] = [
      await scene.webhook(),
      await scene.webhook(),
      await scene.webhook({ isPaused: true }),
    ]
    const claim = { until: NOW + LEASE_MS, except: new Set([full.id]) }
    const claimsOf = async ({ id }: { readonly id: string }) => {
      const event = anEvent({ id: '', projectId: PROJECT_ID }, { id, createdAt: NOW })
      return (await storage.deliveries.publishTo(id, event, id, claim))?.claims
    }
    const { health } = healthy
    expect(await claimsOf(healthy)).toMatchObject({ deliveries: [{ webhook: { health } }] })
    expect(await claimsOf(full)).toEqual({ deliveries: [], skipped: [full.id] })
    expect(await claimsOf(paused)).toEqual({ deliveries: [], skipped: [] })
  })

  it('another URL makes an open circuit half-open, and nothing else that is changed does', async ({
    storage,
    scene,
  }) => {
    const { id, url, ...webhook } = await scene.webhook(openUntil(NOW + MINUTE))
    const changed = await storage.webhooks.update(PROJECT_ID, id, {
      url,
      description: 'the same',
      updatedAt: NOW + 1,
    })
    expect(changed).toMatchObject(openUntil(NOW + MINUTE))
    const moved = await storage.webhooks.update(PROJECT_ID, id, {
      url: 'https://moved.example',
      updatedAt: NOW + 2,
    })
    const expected = {
      ...webhook,
      id,
      url: 'https://moved.example',
      description: 'the same',
      updatedAt: NOW + 2,
      ...openUntil(NOW + 2),
    }
    expect(moved).toEqual(expected)
    expect(await storage.webhooks.get(PROJECT_ID, id)).toEqual(expected)
  })

  it('leave a circuit alone that is half-open or closed', async ({ storage, scene }) => {
    const webhooks = [await scene.webhook(openUntil(NOW - MINUTE)), await scene.webhook()]
    await scene.publish(await scene.agent())
    await storage.deliveries.redeliver({ projectId: PROJECT_ID }, { limit: 10 }, NOW)
    expect(
      await Promise.all(webhooks.map(({ id }) => storage.webhooks.get(PROJECT_ID, id))),
    ).toEqual(webhooks)
  })
}
