import { expect } from 'vitest'
import { untried } from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { CLAIM_ALL, heldBy, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID, SECOND } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const none = { count: 0 }
const NONE_HELD = { disabled: none, paused: none, circuit: none, limit: none, order: none }
const NO_DELIVERIES = {
  open: 0,
  due: 0,
  held: NONE_HELD,
  disabledWebhooks: 0,
  openCircuits: 0,
  halfOpenCircuits: 0,
}

export function backlogSuite(it: StorageTest): void {
  it('is all zeros when there is nothing', async ({ storage }) => {
    expect(await storage.deliveries.backlog(NOW)).toEqual(NO_DELIVERIES)
    expect(await storage.messages.backlog(NOW)).toEqual({
      queued: 0,
      running: 0,
      deferred: 0,
      inputRequired: 0,
    })
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
    const ofTheirs = await storage.deliveries.backlog(NOW + 2, undefined, OTHER_PROJECT_ID)
    expect(ofTheirs).toEqual({ ...NO_DELIVERIES, open: 1, due: 1, oldestDueAt: NOW + 2 })
    await storage.deliveries.claim({ ...CLAIM_ALL, now: NOW + 1, until: NOW + LEASE_MS })
    expect(await storage.deliveries.backlog(NOW + 2)).toEqual({
      ...NO_DELIVERIES,
      open: 3,
      due: 1,
      oldestDueAt: NOW + 2,
    })
  })

  it('counts held deliveries by cause, and says since when the oldest is due', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const status = { kind: 'disabled', reason: 'operator', at: NOW } as const
    const health = { ...untried, circuit: { kind: 'open', until: NOW + SECOND, trips: 1 } } as const
    const deleted = await scene.webhook({ status, health })
    await scene.webhook({ status })
    await scene.webhook({ health })
    await scene.webhook({ isPaused: true })
    const limited = await scene.webhook()
    for (const createdAt of [NOW, NOW + 1, NOW + MINUTE]) await scene.publish(agent, { createdAt })
    await storage.webhooks.delete(PROJECT_ID, deleted.id)
    const webhooks = { disabledWebhooks: 1, openCircuits: 1, halfOpenCircuits: 0 }
    const two = { count: 2, oldestAt: NOW }
    const held = { ...NONE_HELD, disabled: { count: 4, oldestAt: NOW }, paused: two }
    expect(await storage.deliveries.backlog(NOW + 2, new Set([limited.id]))).toEqual({
      ...{ open: 15, due: 0, held: { ...held, circuit: two, limit: two } },
      ...webhooks,
    })
    // One delivery of a half-open circuit can be sent, since the circuit's time has passed.
    expect(await storage.deliveries.backlog(NOW + SECOND)).toEqual({
      ...{ open: 15, due: 3, oldestDueAt: NOW },
      held: { ...held, circuit: { count: 1, oldestAt: NOW } },
      ...{ ...webhooks, openCircuits: 0, halfOpenCircuits: 1 },
    })
  })

  it('counts deliveries that wait for their order apart', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await scene.webhook({ ordering: 'session' })
    for (const createdAt of [NOW, NOW + 1, NOW + 2])
      await scene.publish(agent, { createdAt, sessionId: 's' })
    expect(await storage.deliveries.backlog(NOW + SECOND)).toEqual({
      ...NO_DELIVERIES,
      open: 3,
      due: 1,
      oldestDueAt: NOW,
      held: { ...NONE_HELD, order: { count: 2, oldestAt: NOW + 1 } },
    })
  })

  it('is the same for each project alone and among all', async ({ storage, scene }) => {
    const [mine, theirs] = [await scene.agent(), await scene.agent({ projectId: OTHER_PROJECT_ID })]
    await scene.webhook({ status: { kind: 'disabled', reason: 'operator', at: NOW } })
    await scene.webhook({ ordering: 'session' })
    const limited = await scene.webhook({ projectId: OTHER_PROJECT_ID })
    for (const createdAt of [NOW, NOW + 1]) await scene.publish(mine, { createdAt, sessionId: 's' })
    await scene.publish(theirs, { createdAt: NOW + 2 })
    await scene.send(mine, { sessionId: 'a', now: NOW })
    await scene.send(await scene.agent(), { sessionId: 'b', now: NOW + 1 })
    await scene.run(theirs, { sessionId: 'c' })
    const at = NOW + SECOND
    const deliveries = await storage.deliveries.backlogs(at)
    const messages = await storage.messages.backlogs(at)
    for (const id of [PROJECT_ID, OTHER_PROJECT_ID]) {
      expect(deliveries.get(id)).toEqual(await storage.deliveries.backlog(at, undefined, id))
      expect(messages.get(id)).toEqual(await storage.messages.backlog(at, id))
    }
    expect(deliveries.get(PROJECT_ID)).toMatchObject({ open: 4, disabledWebhooks: 1 })
    expect(deliveries.get(PROJECT_ID)?.held).toMatchObject({
      disabled: { count: 2, oldestAt: NOW },
      order: { count: 1, oldestAt: NOW + 1 },
    })
    expect(deliveries.get(OTHER_PROJECT_ID)).toMatchObject({ open: 1, due: 1 })
    expect(messages.get(PROJECT_ID)).toMatchObject({ queued: 2, running: 0, oldestDueAt: NOW })
    expect(messages.get(OTHER_PROJECT_ID)).toMatchObject({ queued: 0, running: 1 })
    const atLimit = await storage.deliveries.backlogs(at, new Set([limited.id]))
    expect(atLimit.get(OTHER_PROJECT_ID)?.held.limit).toEqual({ count: 1, oldestAt: NOW + 2 })
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
    const counts = { queued: 1, running: 1, deferred: 1, inputRequired: 0 }
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
      inputRequired: 0,
    })
  })
}
