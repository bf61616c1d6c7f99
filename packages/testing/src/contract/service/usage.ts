import { expect } from 'vitest'
import { sumOfUsage, type Usage } from '@org/agent-messaging-core/storage'
import { newMessage, PROJECT_ID } from '../../builders.js'
import { accepted } from '../../fakes/fake-sender.js'
import { heldBy, LEASE_MS, NOW, OTHER_PROJECT_ID, refTo } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const DAY = 20_000
const used = (counts: Usage['counts'], day = DAY, projectId = PROJECT_ID): Usage => ({
  projectId,
  day,
  counts,
})
const ALL = { projectId: PROJECT_ID, fromDay: 0, toDay: 100_000 }
const onDay = (counts: Usage['counts'], day = DAY) => ({ day, counts: sumOfUsage([counts]) })

export function usageSuite(it: StorageTest): void {
  it('adds the counts of new messages by project and day', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const other = await scene.agent({ projectId: OTHER_PROJECT_ID })
    const usage = used({ messages: 1, bytesIn: 10 })
    await scene.send(agent, { sessionId: 'a', usage })
    await scene.send(agent, { sessionId: 'b', usage })
    await scene.send(agent, { sessionId: 'c', usage: used({ messages: 1 }, DAY + 1) })
    await scene.send(agent, { sessionId: 'd' })
    await scene.send(other, { usage: used({ messages: 7 }, DAY, OTHER_PROJECT_ID) })
    expect(await storage.usage.read(ALL)).toEqual([
      onDay({ messages: 2, bytesIn: 20 }),
      onDay({ messages: 1 }, DAY + 1),
    ])
    expect(await storage.usage.read({ ...ALL, fromDay: DAY + 1 })).toHaveLength(1)
    expect(await storage.usage.read({ ...ALL, toDay: DAY })).toHaveLength(1)
    expect(await storage.usage.read({ ...ALL, projectId: OTHER_PROJECT_ID })).toEqual([
      onDay({ messages: 7 }),
    ])
  })

  it('adds the counts of each message of a batch', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const usage = used({ messages: 1, bytesIn: 3 })
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => scene.send(agent, { sessionId: `s${n}`, usage })),
    )
    expect(await storage.usage.read(ALL)).toEqual([onDay({ messages: 40, bytesIn: 120 })])
  })

  it('keeps the days and projects of a batch apart', async ({ storage, scene }) => {
    const agents = [await scene.agent(), await scene.agent({ projectId: OTHER_PROJECT_ID })]
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        const agent = agents[n % 2] as (typeof agents)[number]
        const usage = used({ messages: 1 }, DAY + (n % 4 < 2 ? 0 : 1), agent.projectId)
        return scene.send(agent, { sessionId: `s${n}`, usage })
      }),
    )
    const days = [onDay({ messages: 10 }), onDay({ messages: 10 }, DAY + 1)]
    expect(await storage.usage.read(ALL)).toEqual(days)
    expect(await storage.usage.read({ ...ALL, projectId: OTHER_PROJECT_ID })).toEqual(days)
  })

  it('adds nothing for a repeated send and for a refused one', async ({ storage, scene }) => {
    const agent = await scene.agent({ maxQueued: 1 })
    const usage = used({ messages: 1 })
    const message = newMessage(agent, { idempotencyKey: 'key', usage })
    await storage.messages.accept(message)
    await storage.messages.accept(message)
    await storage.messages.accept(newMessage(agent, { idempotencyKey: 'key', usage }))
    await storage.messages.accept(newMessage(agent, { usage }))
    const full = await storage.messages.accept(newMessage(agent, { usage }))
    expect(full.kind).toBe('session_full')
    expect(await storage.usage.read(ALL)).toEqual([onDay({ messages: 2 })])
  })

  it('adds the counts of a recorded run once', async ({ storage, scene }) => {
    const claimed = await scene.run(await scene.agent())
    const record = {
      ...heldBy(claimed),
      state: { kind: 'responded', response: 'yes', respondedAt: NOW, responseTimeMs: 1 },
      now: NOW,
      usage: used({ runs: 1, bytesOut: 3, inputTokens: 11, outputTokens: 5 }),
    } as const
    await storage.messages.recordRun(record)
    expect((await storage.messages.recordRun(record)).kind).toBe('lease_lost')
    expect(await storage.usage.read(ALL)).toEqual([
      onDay({ runs: 1, bytesOut: 3, inputTokens: 11, outputTokens: 5 }),
    ])
  })

  it('adds the counts of a run that asks', async ({ storage, scene }) => {
    const claimed = await scene.run(await scene.agent())
    await storage.messages.ask({
      ...heldBy(claimed),
      state: { kind: 'input_required', askedAt: NOW, deadlineAt: NOW + 2, dueAt: NOW + 1 },
      inputs: [{ id: 'question', question: 'Which one?', askedAt: NOW }],
      outgoing: { events: [], nextDeliveryId: () => 'none' },
      usage: used({ runs: 1, inputTokens: 2 }),
    })
    expect(await storage.usage.read(ALL)).toEqual([onDay({ runs: 1, inputTokens: 2 })])
  })

  it('adds the counts of attempts, with and without a change of the webhook', async ({
    storage,
    scene,
  }) => {
    await scene.webhook()
    const agent = await scene.agent()
    const claim = { until: NOW + LEASE_MS, except: new Set<string>() }
    for (const changesHealth of [false, true]) {
      const [claimed] = await scene.publish(agent, {}, claim)
      if (!claimed) throw new Error('no delivery was born claimed')
      const { delivery, lease } = claimed
      const record = {
        deliveryId: delivery.id,
        token: lease.token,
        state: { kind: 'delivered', deliveredAt: NOW },
        attempt: { startedAt: NOW, durationMs: 1, outcome: accepted() },
        usage: used({ attempts: 1, deliveries: 1, bytesOut: 100 }),
        ...(changesHealth && { decideHealth: () => undefined, webhookId: delivery.webhookId }),
      } as const
      await storage.deliveries.recordAttempt(record)
    }
    expect(await storage.usage.read(ALL)).toEqual([
      onDay({ attempts: 2, deliveries: 2, bytesOut: 200 }),
    ])
  })

  it('keeps the tokens of an answer with the message', async ({ storage, scene }) => {
    const claimed = await scene.run(await scene.agent())
    const state = {
      kind: 'responded',
      response: 'yes',
      respondedAt: NOW,
      responseTimeMs: 1,
      usage: { inputTokens: 11, outputTokens: 5 },
    } as const
    const recorded = await storage.messages.recordRun({ ...heldBy(claimed), state, now: NOW })
    expect(recorded).toMatchObject({ message: { state } })
    expect((await storage.messages.get(refTo(claimed.message)))?.state).toEqual(state)
  })
}
