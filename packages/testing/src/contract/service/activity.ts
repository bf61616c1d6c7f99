import { expect } from 'vitest'
import type { Outcome } from '@org/agent-messaging-core/runtime'
import type { ActivityQuery } from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { accepted, refused, unreachable } from '../../fakes/fake-sender.js'
import { LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID, SECOND, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const START = Math.floor(NOW / MINUTE) * MINUTE
const QUERY: ActivityQuery = { projectId: PROJECT_ID, since: START, bucketMs: MINUTE, newest: 100 }

const inOrder = <T>(rows: readonly T[]): T[] =>
  rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

/** One attempt for each webhook that hears of the event. */
async function attempt(
  { deliveries }: UnwrappedStorage,
  scene: Scene,
  startedAt: number,
  outcome: Outcome,
): Promise<void> {
  const agent = await scene.agent()
  for (const { delivery, lease } of await scene.publish(
    agent,
    {},
    { until: NOW + LEASE_MS, except: new Set() },
  )) {
    const state = { kind: 'exhausted', exhaustedAt: startedAt } as const
    await deliveries.recordAttempt({
      ...{ deliveryId: delivery.id, token: lease.token, state },
      attempt: { startedAt, durationMs: 1, outcome },
    })
  }
}

export function activitySuite(it: StorageTest): void {
  it('counts messages by the time of their acceptance and their present state', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const other = await scene.agent({ projectId: OTHER_PROJECT_ID })
    await scene.send(agent, { sessionId: 'before', now: START - 1 })
    await scene.send(agent, { sessionId: 'a', now: START })
    await scene.send(await scene.agent(), { sessionId: 'b', now: START + MINUTE - 1 })
    await scene.answer(
      await scene.run(agent, { sessionId: 'c', now: START + MINUTE }),
      START + MINUTE,
    )
    await scene.send(other, { now: START })
    expect(inOrder(await storage.messages.activity(QUERY))).toEqual([
      { at: START, state: 'queued', count: 2 },
      { at: START + MINUTE, state: 'responded', count: 1 },
    ])
  })

  it('counts attempts by webhook and status code, and unreachable receivers under 0', async ({
    storage,
    scene,
  }) => {
    const webhook = await scene.webhook()
    await scene.webhook({ projectId: OTHER_PROJECT_ID })
    await attempt(storage, scene, START - 1, refused())
    await attempt(storage, scene, START, accepted())
    await attempt(storage, scene, START + SECOND, accepted())
    await attempt(storage, scene, START + MINUTE, refused(404))
    await attempt(storage, scene, START + MINUTE, unreachable('timeout'))
    const facts = { webhookId: webhook.id }
    expect(inOrder(await storage.deliveries.activity(QUERY))).toEqual([
      { at: START, ...facts, statusCode: 200, count: 2 },
      { at: START + MINUTE, ...facts, statusCode: 0, count: 1 },
      { at: START + MINUTE, ...facts, statusCode: 404, count: 1 },
    ])
  })

  it('looks at the newest only, of each agent and of all deliveries', async ({
    storage,
    scene,
  }) => {
    await scene.webhook()
    const agent = await scene.agent()
    for (const sessionId of ['a', 'b', 'c']) await scene.send(agent, { sessionId, now: START })
    for (const statusCode of [500, 501, 502])
      await attempt(storage, scene, START, refused(statusCode))
    const newest = { ...QUERY, newest: 2 }
    expect(await storage.messages.activity(newest)).toEqual([
      { at: START, state: 'queued', count: 2 },
    ])
    const attempts = await storage.deliveries.activity(newest)
    expect(inOrder(attempts.map(({ statusCode }) => statusCode))).toEqual([501, 502])
  })

  it('is nothing when nothing happened', async ({ storage }) => {
    expect(await storage.messages.activity(QUERY)).toEqual([])
    expect(await storage.deliveries.activity(QUERY)).toEqual([])
  })
}
