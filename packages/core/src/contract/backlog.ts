import { expect } from 'vitest'
import { untried } from '../domain/webhook-health.js'
import { PROJECT_ID } from '../testing/builders.js'
import { CLAIM_ALL, heldBy, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID, SECOND } from './scene.js'
import type { StorageTest } from './storage-test.js'

const NO_DELIVERIES = {
  open: 0,
  due: 0,
  held: 0,
  disabledWebhooks: 0,
  openCircuits: 0,
  halfOpenCircuits: 0,
}

export function backlogSuite(it: StorageTest): void {
  it('is all zeros when there is nothing', async ({ storage }) => {
    expect(await storage.deliveries.backlog(NOW)).toEqual(NO_DELIVERIES)
    expect(await storage.messages.backlog(NOW)).toEqual({ queued: 0, running: 0, deferred: 0 })
  })

  it('counts deliveries of all projects, and says since when the oldest is due', async ({
    storage,
    scene,
  }) => {
    const [mine, theirs] = [await scene.agent(), await scene.agent({ projectId: OTHER_PROJECT_ID })]
    await scene.webhook()
    await scene.webhook({ projectId: OTHER_PROJECT_ID })
    await scene.publish(mine, { createdAt: NOW + 1 })
    await scene.publish(theirs, { createdAt: NOW + 2 })
    await scene.publish(mine, { createdAt: NOW + MINUTE })
    expect(await storage.deliveries.backlog(NOW)).toEqual({ ...NO_DELIVERIES, open: 3 })
    expect(await storage.deliveries.backlog(NOW + 2)).toEqual({
      ...NO_DELIVERIES,
      open: 3,
      due: 2,
      oldestDueAt: NOW + 1,
    })
    await storage.deliveries.claimDue({ ...CLAIM_ALL, now: NOW + 1, until: NOW + LEASE_MS })
    expect(await storage.deliveries.backlog(NOW + 2)).toEqual({
      ...NO_DELIVERIES,
      open: 3,
      due: 1,
      oldestDueAt: NOW + 2,
    })
  })

  it('counts apart what waits for disabled and deleted webhooks and open circuits', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const status = { kind: 'disabled', reason: 'operator', at: NOW } as const
    const health = { ...untried, circuit: { kind: 'open', until: NOW + SECOND, trips: 1 } } as const
    const deleted = await scene.webhook({ status, health })
    await scene.webhook({ status })
    await scene.webhook({ health })
    await scene.publish(agent)
    await storage.webhooks.delete(PROJECT_ID, deleted.id)
    const webhooks = { disabledWebhooks: 1, openCircuits: 1, halfOpenCircuits: 0 }
    expect(await storage.deliveries.backlog(NOW)).toEqual({ open: 3, due: 0, held: 3, ...webhooks })
    expect(await storage.deliveries.backlog(NOW + SECOND)).toEqual({
      ...{ open: 3, due: 1, oldestDueAt: NOW, held: 2 },
      ...{ ...webhooks, openCircuits: 0, halfOpenCircuits: 1 },
    })
  })

  it('counts messages by state, and returns since when the oldest could run', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.run(agent, { sessionId: 'a' })
    await scene.send(agent, { sessionId: 'a' })
    const deferred = await scene.run(agent, { sessionId: 'b' })
    await storage.messages.defer({
      ...heldBy(deferred),
      state: { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + MINUTE },
    })
    await scene.answer(await scene.run(agent, { sessionId: 'c' }))
    const counts = { queued: 1, running: 1, deferred: 1 }
    expect(await storage.messages.backlog(NOW + SECOND)).toEqual(counts)
    await scene.send(agent, { sessionId: 'd', now: NOW + 5 })
    await scene.send(agent, { sessionId: 'd', now: NOW + 6 })
    await scene.send(agent, { sessionId: 'e', now: NOW + MINUTE })
    expect(await storage.messages.backlog(NOW + SECOND)).toEqual({
      ...counts,
      queued: 4,
      oldestDueAt: NOW + 5,
    })
  })

  it('says nothing of how long an agent that does not run leaves messages waiting', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.send(agent)
    await storage.agents.changeState({
      agentId: agent.id,
      from: 'running',
      to: { kind: 'stopped' },
    })
    expect(await storage.messages.backlog(NOW + SECOND)).toEqual({
      queued: 1,
      running: 0,
      deferred: 0,
    })
  })
}
