import { describe, expect } from 'vitest'
import type { JumpReport } from '@org/agent-messaging-core/storage'
import { anEvent, PROJECT_ID } from '../../builders.js'
import { refused } from '../../fakes/fake-sender.js'
import { CLAIM_ALL, heldBy, LEASE_MS, MINUTE, NOW, refTo, SECOND } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const HOUR = 60 * MINUTE
const AT = NOW + 10 * SECOND
const JUMPS: readonly (readonly [string, number])[] = [
  ['ahead', HOUR],
  ['back', -HOUR],
]
const jumpBy = (byMs: number): JumpReport => ({ from: AT, to: AT + byMs, lastMove: 0 })
const MOVED = { hasMoved: true }

export function clockJumpSuite(it: StorageTest): void {
  describe.each(JUMPS)('%s', (_way, byMs) => {
    const jump = jumpBy(byMs)

    it('G5: keeps the rest of a lease, and its token', async ({ storage, scene }) => {
      const agent = await scene.agent()
      const run = await scene.run(agent)
      expect(await storage.moveTimes(jump)).toMatchObject(MOVED)
      const end = NOW + byMs + LEASE_MS
      expect(await scene.claim(agent, end - 1)).toEqual([])
      expect(await storage.messages.extendLeases([heldBy(run)], end + 1)).toEqual([])
      expect(await scene.claim(agent, end)).toEqual([])
      expect(await scene.claim(agent, end + 1)).toHaveLength(1)
    })

    it('keeps what is due', async ({ storage, scene }) => {
      const [agent] = [await scene.agent(), await scene.webhook()]
      const message = await scene.send(agent)
      await scene.publish(agent, { createdAt: AT - 1 })
      await storage.moveTimes(jump)
      const now = jump.to
      const due = { ...CLAIM_ALL, now, until: now + LEASE_MS }
      expect(await storage.deliveries.claim(due)).toHaveLength(1)
      const [claimed] = await scene.claim(agent, now)
      expect(claimed?.message.id).toBe(message.id)
    })

    it('keeps the rest of a deferral and of a backoff', async ({ storage, scene }) => {
      const agent = await scene.agent()
      const deferred = await scene.run(agent, { sessionId: 'deferred' })
      const state = { kind: 'deferred', startedAt: NOW, deadlineAt: AT + MINUTE } as const
      await storage.messages.defer({ ...heldBy(deferred), state })
      const retried = await scene.run(agent, { sessionId: 'retried' })
      const queued = { kind: 'queued', notBefore: AT + MINUTE } as const
      await storage.messages.recordRun({ ...heldBy(retried), state: queued, now: AT })
      await storage.moveTimes(jump)
      const due = jump.to + MINUTE
      expect(await scene.reread(deferred.message)).toMatchObject({ state: { deadlineAt: due } })
      expect(await scene.reread(retried.message)).toMatchObject({ state: { notBefore: due } })
      expect(await scene.claim(agent, due - 1)).toEqual([])
      expect(await scene.claim(agent, due)).toHaveLength(2)
    })

    it('keeps the rest of a retry and of an open circuit', async ({ storage, scene }) => {
      const [agent, webhook] = [await scene.agent(), await scene.webhook()]
      const claim = { until: AT + LEASE_MS, except: new Set<string>() }
      const [claimed] = await scene.publish(agent, {}, claim)
      const { delivery, lease } = claimed as NonNullable<typeof claimed>
      const circuit = { kind: 'open', until: AT + MINUTE, trips: 1 } as const
      await storage.deliveries.recordAttempt({
        deliveryId: delivery.id,
        token: lease.token,
        attempt: { startedAt: NOW, durationMs: 1, outcome: refused() },
        state: { kind: 'pending', nextAttemptAt: AT + SECOND, step: 1 },
        decideHealth: ({ health, updatedAt }) => ({
          change: { health: { ...health, circuit }, updatedAt },
        }),
        receiverId: webhook.id,
      })
      await storage.moveTimes(jump)
      const due = { ...CLAIM_ALL, until: jump.to + HOUR }
      const claimAt = (now: number) => storage.deliveries.claim({ ...due, now })
      const { projectId, id } = webhook
      const kept = await storage.webhooks.get(projectId, id)
      expect(kept?.health.circuit).toEqual({ ...circuit, until: jump.to + MINUTE })
      const found = await storage.deliveries.get(projectId, delivery.id)
      expect(found?.delivery.state).toMatchObject({ nextAttemptAt: jump.to + SECOND })
      expect(await claimAt(jump.to + MINUTE - 1)).toEqual([])
      expect(await claimAt(jump.to + MINUTE)).toHaveLength(1)
    })

    it('keeps the rest of a grace period of a secret', async ({ storage, scene }) => {
      const { projectId, id, secret } = await scene.webhook()
      const rotation = { rotation: { secret, previousUntil: AT + MINUTE }, updatedAt: NOW }
      await storage.webhooks.update(projectId, id, rotation)
      await storage.moveTimes(jump)
      const kept = await storage.webhooks.get(projectId, id)
      expect(kept?.previousSecret?.until).toBe(jump.to + MINUTE)
    })

    it('keeps the rest of the lease and of the next try of an agent', async ({
      storage,
      scene,
    }) => {
      const { projectId, id } = await scene.agent({ state: { kind: 'starting' } })
      await storage.agents.own({ owner: 'a', agentIds: [id], now: AT, until: AT + LEASE_MS })
      const lastError = { code: 'RUNTIME_EXITED', message: 'it ended' } as const
      const to = { kind: 'error', lastError, failures: 1, retryAt: AT + MINUTE } as const
      await storage.agents.changeState({ agentId: id, from: 'starting', to })
      await storage.moveTimes(jump)
      const kept = await storage.agents.get(projectId, id)
      expect(kept?.state).toEqual({ ...to, retryAt: jump.to + MINUTE })
      const own = (now: number) =>
        storage.agents.own({ owner: 'b', agentIds: [id], now, until: now + LEASE_MS })
      expect(await own(jump.to + LEASE_MS - 1)).toEqual([])
      expect(await own(jump.to + LEASE_MS)).toEqual([id])
    })

    it('keeps the rest of the lease of a listener', async ({ storage: { events, moveTimes } }) => {
      const listenAt = (owner: string, now: number) =>
        events.listen({
          ...{ projectId: PROJECT_ID, name: 'mail', cursor: '1' },
          ...{ owner, now, until: now + LEASE_MS },
        })
      await listenAt('a', AT)
      await moveTimes(jump)
      expect(await listenAt('b', jump.to + LEASE_MS - 1)).toBe('held')
      expect(await listenAt('b', jump.to + LEASE_MS)).toEqual({ cursor: '1' })
    })

    it('moves the times once, also if two processes notice the jump', async ({
      storage,
      second,
      scene,
    }) => {
      const agent = await scene.agent()
      await scene.run(agent)
      expect(await storage.moveTimes(jump)).toMatchObject(MOVED)
      const later = { from: jump.from + MINUTE, to: jump.to + MINUTE, lastMove: 0 }
      expect(await second.moveTimes(later)).toEqual({ hasMoved: false, lastMove: 1 })
      expect(await scene.claim(agent, NOW + byMs + LEASE_MS - 1)).toEqual([])
      expect(await scene.claim(agent, NOW + byMs + LEASE_MS)).toHaveLength(1)
    })
  })

  it('a jump ahead and back restores every time', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const { message } = await scene.run(agent)
    expect(await storage.moveTimes(jumpBy(HOUR))).toMatchObject(MOVED)
    const back = { from: AT + HOUR, to: AT, lastMove: 1 }
    expect(await storage.moveTimes(back)).toMatchObject(MOVED)
    expect(await scene.claim(agent, NOW + LEASE_MS - 1)).toEqual([])
    expect(await scene.claim(agent, NOW + LEASE_MS)).toHaveLength(1)
    expect(await storage.messages.get(refTo(message))).toMatchObject({ state: { kind: 'running' } })
  })

  it('moves the times for each of three jumps, and once for two processes', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.run(agent)
    const step = 30 * SECOND
    let [from, known] = [AT, 0]
    for (const byMs of [step, -step, -step]) {
      const jump = { from, to: from + byMs, lastMove: known }
      const both = [await storage.moveTimes(jump), await second.moveTimes(jump)]
      expect(both.map(({ hasMoved }) => hasMoved)).toEqual([true, false])
      expect(both.map(({ lastMove }) => lastMove)).toEqual([known + 1, known + 1])
      ;[from, known] = [from + byMs + SECOND, known + 1]
    }
    expect(await scene.claim(agent, NOW - step + LEASE_MS - 1)).toEqual([])
    expect(await scene.claim(agent, NOW - step + LEASE_MS)).toHaveLength(1)
  })

  it('a report that is repeated moves the times once', async ({ storage }) => {
    expect(await storage.moveTimes(jumpBy(HOUR))).toEqual({ hasMoved: true, lastMove: 1 })
    expect(await storage.moveTimes(jumpBy(HOUR))).toEqual({ hasMoved: false, lastMove: 1 })
  })

  it('a jump back makes due what had come only on the earlier clock', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    await scene.publish(agent, anEvent(agent, { createdAt: AT - MINUTE }))
    const to = AT - HOUR
    await storage.moveTimes({ from: AT, to, lastMove: 0 })
    const due = { ...CLAIM_ALL, now: to, until: to + LEASE_MS }
    expect(await storage.deliveries.claim(due)).toHaveLength(1)
  })
}
