import { expect } from 'vitest'
import { anEvent } from '../testing/builders.js'
import {
  CLAIM_ALL,
  LEASE_MS,
  MINUTE,
  NOW,
  OTHER_PROJECT_ID,
  SECOND,
  UNKNOWN_ID,
  heldBy,
} from './scene.js'
import type { StorageTest } from './storage-test.js'

export function outboxSuite(it: StorageTest): void {
  it('G3: commits an answer with its event and one delivery for each subscribed webhook', async ({
    storage: { deliveries },
    scene,
  }) => {
    const agent = await scene.agent()
    const webhooks = [await scene.webhook(), await scene.webhook()]
    const event = anEvent(agent, {
      name: 'message.responded',
      body: '{"event":"message.responded","data":{"é":"\\u2028"}} ',
    })
    const recorded = await scene.answer(await scene.run(agent), NOW, scene.outgoing(event))
    expect(recorded).toMatchObject({
      kind: 'recorded',
      deliveries: [],
      message: { state: { kind: 'responded' } },
    })

    const { data } = await deliveries.list({ projectId: agent.projectId }, { limit: 10 })
    expect(data.map(({ webhookId }) => webhookId).sort()).toEqual(
      webhooks.map(({ id }) => id).sort(),
    )
    for (const { id, webhookId } of data) {
      const facts = {
        id,
        projectId: agent.projectId,
        webhookId,
        eventId: event.id,
        event: event.name,
        attemptCount: 0,
        createdAt: NOW,
      }
      const delivery = { ...facts, state: { kind: 'pending', nextAttemptAt: NOW, step: 0 } }
      expect(await deliveries.get(agent.projectId, id)).toEqual({
        delivery,
        body: event.body,
        attempts: [],
      })
    }
  })

  it('G3: keeps the event body to the last character', async ({
    storage: { deliveries },
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const body = `{"z":1,"a":[1.0,1e2],"é\u{1F600}":"${'x'.repeat(100_000)}"}\n`
    await scene.publish(agent, { body })
    const [claimed] = await deliveries.claimDue({
      ...CLAIM_ALL,
      now: NOW,
      until: NOW + LEASE_MS,
      limit: 1,
    })
    expect(claimed?.body).toBe(body)
  })

  it('gives the caller the deliveries that are born claimed, with all that an attempt needs', async ({
    storage: { deliveries },
    scene,
  }) => {
    const agent = await scene.agent()
    const webhook = await scene.webhook({
      url: 'https://receiver.example/a?b=c',
      description: 'mine',
    })
    const event = anEvent(agent)
    const outgoing = scene.outgoing(event, { until: NOW + LEASE_MS, except: new Set() })
    const recorded = await scene.answer(await scene.run(agent), NOW, outgoing)
    const born = recorded.kind === 'recorded' ? recorded.deliveries : []
    expect(born).toMatchObject([{ webhook, body: event.body, lease: { until: NOW + LEASE_MS } }])
    expect(born[0]?.delivery.state).toEqual({
      kind: 'sending',
      leaseUntil: NOW + LEASE_MS,
      step: 0,
    })
    expect((await deliveries.get(agent.projectId, born[0]?.delivery.id ?? ''))?.delivery).toEqual(
      born[0]?.delivery,
    )
    const due = { ...CLAIM_ALL, until: NOW + MINUTE }
    expect(await deliveries.claimDue({ ...due, now: NOW + LEASE_MS - 1 })).toEqual([])
    expect(await deliveries.claimDue({ ...due, now: NOW + LEASE_MS })).toHaveLength(1)
  })

  it('leaves deliveries of excepted and of disabled webhooks unclaimed', async ({
    storage: { deliveries },
    scene,
  }) => {
    const agent = await scene.agent()
    const [claimed, excepted] = [await scene.webhook(), await scene.webhook()]
    const disabled = await scene.webhook({
      status: { kind: 'disabled', reason: 'operator', at: NOW },
    })
    const born = await scene.publish(
      agent,
      {},
      { until: NOW + LEASE_MS, except: new Set([excepted.id]) },
    )
    expect(born.map(({ webhook }) => webhook.id)).toEqual([claimed.id])
    const { data } = await deliveries.list({ projectId: agent.projectId }, { limit: 10 })
    const states = new Map(data.map(({ webhookId, state }) => [webhookId, state.kind]))
    expect([claimed, excepted, disabled].map(({ id }) => states.get(id))).toEqual([
      'sending',
      'pending',
      'pending',
    ])
  })

  it('a run that will be tried again causes no event', async ({
    storage: { messages, deliveries },
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const run = await scene.run(agent)
    const recorded = await messages.recordRun({
      ...heldBy(run),
      state: { kind: 'queued', notBefore: NOW + SECOND },
      now: NOW,
    })
    expect(recorded).toMatchObject({ kind: 'recorded', deliveries: [] })
    expect((await deliveries.list({ projectId: agent.projectId }, { limit: 10 })).data).toEqual([])
  })

  it('G3: commits a change of an agent with its event, for one of many callers', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const change = { agentId: agent.id, from: 'running', to: { kind: 'stopped' } } as const
    const calls = Array.from({ length: 8 }, (_, i) => {
      const outgoing = scene.outgoing(anEvent(agent, { name: 'agent.stopped' }), {
        until: NOW + LEASE_MS,
        except: new Set(),
      })
      return (i % 2 ? storage : second).agents.changeState({ ...change, outgoing })
    })
    const answers = await Promise.all(calls)
    expect(answers.filter(({ changed }) => changed)).toHaveLength(1)
    expect(answers.flatMap(({ deliveries }) => deliveries)).toHaveLength(1)
    expect(
      (await storage.deliveries.list({ projectId: agent.projectId }, { limit: 10 })).data,
    ).toHaveLength(1)
    expect(await storage.agents.get(agent.projectId, agent.id)).toMatchObject({
      state: { kind: 'stopped' },
    })
  })

  it('gives an event to one webhook alone, subscribed or not', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const [one] = [await scene.webhook({ events: ['agent.error'] }), await scene.webhook()]
    const event = { ...anEvent(agent), name: 'webhook.test' } as const
    const published = await storage.deliveries.publishTo(one.id, event, UNKNOWN_ID)
    expect(published).toMatchObject({
      id: UNKNOWN_ID,
      webhookId: one.id,
      event: 'webhook.test',
      state: { kind: 'pending', step: 0 },
    })
    const claimed = await storage.deliveries.claimDue({
      ...CLAIM_ALL,
      now: NOW,
      until: NOW + LEASE_MS,
    })
    expect(claimed).toMatchObject([{ delivery: { id: UNKNOWN_ID }, body: event.body }])
    const elsewhere = { ...event, projectId: OTHER_PROJECT_ID }
    expect(await storage.deliveries.publishTo(one.id, elsewhere, agent.id)).toBeUndefined()
    await storage.webhooks.delete(one.projectId, one.id)
    expect(await storage.deliveries.publishTo(one.id, event, agent.id)).toBeUndefined()
  })
}
