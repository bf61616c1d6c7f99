import { expect } from 'vitest'
import { freezeEvent, type ClaimedDelivery } from '@org/agent-messaging-core/storage'
import type { Outcome } from '@org/agent-messaging-core/runtime'
import { PROJECT_ID } from '../../builders.js'
import { accepted, refused, unreachable } from '../../fakes/fake-sender.js'
import { LEASE_MS, NOW, OTHER_PROJECT_ID, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const born = { until: NOW + LEASE_MS, except: new Set<string>() }

/** Records an attempt that ends the delivery. */
const record = (
  { deliveries }: UnwrappedStorage,
  { delivery, lease }: ClaimedDelivery,
  startedAt: number,
  outcome: Outcome,
) =>
  deliveries.recordAttempt({
    deliveryId: delivery.id,
    token: lease.token,
    attempt: { startedAt, durationMs: 1, outcome },
    state:
      outcome.kind === 'accepted'
        ? { kind: 'delivered', deliveredAt: startedAt }
        : { kind: 'exhausted', exhaustedAt: startedAt },
  })

/** A webhook with three deliveries, of which the first event is on behalf of an end user. */
async function threeSent(scene: Scene) {
  const agent = await scene.agent()
  const webhook = await scene.webhook()
  const ofEndUser = freezeEvent(
    {
      event: 'message.cancelled',
      data: {
        messageId: 'm',
        agentId: agent.id,
        sessionId: 's',
        metadata: {},
        executionPrincipal: { type: 'end_user', endUserId: 'u' },
        cancelledAt: '',
      },
    },
    'e',
    PROJECT_ID,
    NOW,
  )
  const sent = [
    ...(await scene.publish(agent, ofEndUser, born)),
    ...(await scene.publish(agent, {}, born)),
    ...(await scene.publish(agent, {}, born)),
  ] as [ClaimedDelivery, ClaimedDelivery, ClaimedDelivery]
  return { webhook, sent }
}

export function lastFailuresSuite(it: StorageTest): void {
  it('has the last delivery of those whose attempts began together', async ({ storage, scene }) => {
    const { webhook, sent } = await threeSent(scene)
    for (const claimed of sent) await record(storage, claimed, NOW, refused(500))
    const [last] = sent
      .map(({ delivery }) => delivery.id)
      .toSorted()
      .toReversed()
    expect(await storage.deliveries.lastFailures(PROJECT_ID, [webhook.id])).toMatchObject([
      { deliveryId: last },
    ])
  })

  it('has the newest attempt of each webhook that was not accepted', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const [failing, recovered, healthy, untried] = [
      await scene.webhook(),
      await scene.webhook(),
      await scene.webhook(),
      await scene.webhook({ events: ['agent.started'] }),
    ]
    const outcomes = new Map([
      [failing.id, [refused(500), unreachable('timeout'), refused(503)]],
      [recovered.id, [unreachable(), accepted(), accepted()]],
      [healthy.id, [accepted(), accepted(), accepted()]],
    ])
    const newest = new Map<string, string>()
    // The failure that began last is recorded first.
    for (const nth of [2, 1, 0])
      for (const claimed of await scene.publish(agent, {}, born)) {
        const outcome = outcomes.get(claimed.webhook.id)?.[nth] ?? accepted()
        await record(storage, claimed, NOW + nth, outcome)
        if (outcome.kind !== 'accepted' && !newest.has(claimed.webhook.id))
          newest.set(claimed.webhook.id, claimed.delivery.id)
      }
    const ids = [failing, recovered, healthy, untried].map(({ id }) => id)
    const found = await storage.deliveries.lastFailures(PROJECT_ID, ids)
    expect(new Map(found.map((failure) => [failure.webhookId, failure]))).toEqual(
      new Map([
        [
          failing.id,
          {
            webhookId: failing.id,
            deliveryId: newest.get(failing.id),
            attemptNumber: 1,
            startedAt: NOW + 2,
            outcome: refused(503),
          },
        ],
        [
          recovered.id,
          {
            webhookId: recovered.id,
            deliveryId: newest.get(recovered.id),
            attemptNumber: 1,
            startedAt: NOW,
            outcome: unreachable(),
          },
        ],
      ]),
    )
    expect(await storage.deliveries.lastFailures(PROJECT_ID, [])).toEqual([])
    expect(await storage.deliveries.lastFailures(OTHER_PROJECT_ID, ids)).toEqual([])
  })

  it('has one failure of a webhook with failures that began at the same time', async ({
    storage,
    scene,
  }) => {
    const { webhook, sent } = await threeSent(scene)
    for (const claimed of sent) await record(storage, claimed, NOW, refused())
    expect(await storage.deliveries.lastFailures(PROJECT_ID, [webhook.id])).toHaveLength(1)
  })

  it('is gone with its person and with its delivery, which shows the failure before', async ({
    storage,
    scene,
  }) => {
    const { webhook, sent } = await threeSent(scene)
    const [ofEndUser, other, later] = sent
    await record(storage, other, NOW, refused(500))
    await record(storage, ofEndUser, NOW + 1, refused(503))
    await record(storage, later, NOW + 2, accepted())
    const lastFailures = () => storage.deliveries.lastFailures(PROJECT_ID, [webhook.id])
    expect(await lastFailures()).toMatchObject([{ deliveryId: ofEndUser.delivery.id }])
    const endUser = { projectId: PROJECT_ID, endUserId: 'u' }
    const step = { countOnly: false, now: NOW, limit: 100, after: 0 }
    await storage.deliveries.erasePrincipal({ ...endUser, ...step })
    expect(await lastFailures()).toMatchObject([{ deliveryId: other.delivery.id }])
    await storage.deliveries.purge({ finishedBefore: NOW + 1, limit: 100 })
    expect(await lastFailures()).toEqual([])
  })

  it('counts the open deliveries of a webhook, up to a limit', async ({ storage, scene }) => {
    const { webhook, sent } = await threeSent(scene)
    const idle = await scene.webhook({ events: ['agent.stopped'] })
    const ids = [webhook.id, idle.id]
    const open = async (projectId: string, most: number) => [
      ...(await storage.deliveries.countOpen(projectId, ids, most)),
    ]
    expect(new Map(await open(PROJECT_ID, 10))).toEqual(
      new Map([
        [webhook.id, 3],
        [idle.id, 0],
      ]),
    )
    await record(storage, sent[0], NOW, accepted())
    expect(new Map(await open(PROJECT_ID, 10)).get(webhook.id)).toBe(2)
    expect(new Map(await open(PROJECT_ID, 1)).get(webhook.id)).toBe(1)
    expect(await open(OTHER_PROJECT_ID, 10)).toEqual([])
    expect(await storage.deliveries.countOpen(PROJECT_ID, [], 10)).toEqual(new Map())
  })

  it('is gone with its webhook', async ({ storage, scene }) => {
    const { webhook, sent } = await threeSent(scene)
    await record(storage, sent[0], NOW, refused())
    await storage.webhooks.delete(PROJECT_ID, webhook.id)
    expect(await storage.deliveries.lastFailures(PROJECT_ID, [webhook.id])).toEqual([])
  })
}
