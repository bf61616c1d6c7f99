import { expect } from 'vitest'
import { anEvent } from '../../builders.js'
import { refused } from '../../fakes/fake-sender.js'
import {
  CLAIM_ALL,
  LEASE_MS,
  MINUTE,
  NOW,
  OTHER_PROJECT_ID,
  SECOND,
  UNKNOWN_ID,
  heldBy,
  refTo,
} from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const UNKNOWN_TOKEN = 999_999

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
    const [claimed] = await deliveries.claim({
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
    expect(await deliveries.claim({ ...due, now: NOW + LEASE_MS - 1 })).toEqual([])
    expect(await deliveries.claim({ ...due, now: NOW + LEASE_MS })).toHaveLength(1)
  })

  it('leaves deliveries of excepted and of disabled webhooks unclaimed, and says which it skipped', async ({
    storage: { messages, deliveries },
    scene,
  }) => {
    const agent = await scene.agent()
    const [claimed, excepted] = [await scene.webhook(), await scene.webhook()]
    const disabled = await scene.webhook({
      status: { kind: 'disabled', reason: 'operator', at: NOW },
    })
    const except = new Set([excepted.id, disabled.id, UNKNOWN_ID])
    const outgoing = scene.outgoing(anEvent(agent), { until: NOW + LEASE_MS, except })
    const answered = await scene.answer(await scene.run(agent), NOW, outgoing)
    if (answered.kind !== 'recorded') throw new Error('the run was not recorded')
    expect(answered.deliveries.map(({ webhook }) => webhook.id)).toEqual([claimed.id])
    expect(answered.skipped).toEqual([excepted.id])
    const ofProject = { until: NOW + LEASE_MS, except: new Set([agent.projectId]) }
    const published = scene.outgoing(anEvent(agent), ofProject)
    const state = { kind: 'cancelled', cancelledAt: NOW } as const
    const message = await scene.send(agent)
    expect(await messages.cancel({ ...refTo(message), state, outgoing: published })).toMatchObject({
      deliveries: [],
      skipped: [agent.projectId, agent.projectId],
    })
    const { data } = await deliveries.list({ projectId: agent.projectId }, { limit: 10 })
    const states = new Map(data.map(({ webhookId, state }) => [webhookId, state.kind]))
    expect([claimed, excepted, disabled].map(({ id }) => states.get(id))).toEqual([
      'sending',
      'pending',
      'pending',
    ])
  })

  it('G3: commits all events of a change, each for its own receivers, in their order', async ({
    storage: { messages, deliveries },
    scene,
  }) => {
    const agent = await scene.agent()
    const all = await scene.webhook()
    const errors = await scene.webhook({ events: ['agent.error'] })
    const failures = await scene.webhook({ events: ['message.failed'] })
    const names = ['agent.error', 'message.failed'] as const
    const eventsOf = (note: string) =>
      names.map((name) => anEvent(agent, { name, body: `${name} ${note}` }))
    const claim = { until: NOW + LEASE_MS, except: new Set<string>() }
    const fail = async (note: string) => {
      const run = await scene.run(agent, { sessionId: note })
      const outgoing = { ...scene.outgoing(anEvent(agent), claim), events: eventsOf(note) }
      const error = { code: 'RUNTIME_ERROR', message: 'failed' } as const
      const state = { kind: 'failed', error, failedAt: NOW } as const
      return { ...heldBy(run), state, now: NOW, outgoing }
    }
    const [first, second] = [await fail('one'), await fail('two')]
    const lost = { ...(await fail('lost')), token: UNKNOWN_TOKEN }
    const recorded = await Promise.all([first, lost, second].map((run) => messages.recordRun(run)))
    expect(recorded.map(({ kind }) => kind)).toEqual(['recorded', 'lease_lost', 'recorded'])
    const born = recorded.map((one) => (one.kind === 'recorded' ? one.deliveries : []))
    const bodiesFor = (of: string, at: number) =>
      born[at]?.flatMap(({ webhook, body }) => (webhook.id === of ? [body] : []))
    expect(bodiesFor(all.id, 0)).toEqual(['agent.error one', 'message.failed one'])
    expect(bodiesFor(errors.id, 0)).toEqual(['agent.error one'])
    expect(bodiesFor(failures.id, 2)).toEqual(['message.failed two'])
    const listed = await deliveries.list({ projectId: agent.projectId }, { limit: 100 })
    expect(listed.data).toHaveLength(8)

    const message = await scene.send(agent, { sessionId: 'cancelled' })
    const outgoing = { ...scene.outgoing(anEvent(agent)), events: eventsOf('cancelled') }
    expect(await scene.cancel(message, outgoing)).toMatchObject({ kind: 'cancelled' })
    const ofAll = { projectId: agent.projectId, webhookId: all.id }
    const { data } = await deliveries.list(ofAll, { limit: 2 })
    expect(data.map(({ event }) => event)).toEqual(['message.failed', 'agent.error'])
  })

  it('G3: commits an attempt with its events, unless the attempt is refused', async ({
    storage: { deliveries },
    scene,
  }) => {
    const agent = await scene.agent()
    const failing = await scene.webhook({ events: ['agent.started'] })
    const other = await scene.webhook({ events: ['delivery.exhausted'] })
    await scene.webhook({ events: ['*'], projectId: OTHER_PROJECT_ID })
    const [claimed] = await scene.publish(agent, {}, { until: NOW + LEASE_MS, except: new Set() })
    if (!claimed) throw new Error('no delivery was born claimed')
    const event = anEvent(agent, { name: 'delivery.exhausted', body: 'exhausted' })
    const record = {
      deliveryId: claimed.delivery.id,
      token: claimed.lease.token,
      attempt: { startedAt: NOW, durationMs: 1, outcome: refused() },
      state: { kind: 'exhausted', exhaustedAt: NOW },
      outgoing: { ...scene.outgoing(event), notTo: failing.id },
    } as const
    const reached = async () =>
      (await deliveries.list({ projectId: agent.projectId }, { limit: 10 })).data.flatMap((one) =>
        one.event === 'delivery.exhausted' ? [one.webhookId] : [],
      )
    expect(await deliveries.recordAttempt({ ...record, token: UNKNOWN_TOKEN })).toMatchObject({
      kind: 'lease_lost',
    })
    expect(await reached()).toEqual([])
    expect(await deliveries.recordAttempt(record)).toMatchObject({ kind: 'recorded' })
    expect(await reached()).toEqual([other.id])
    expect(await deliveries.recordAttempt(record)).toMatchObject({ kind: 'lease_lost' })
    expect(await reached()).toEqual([other.id])
    const due = await deliveries.claim({ ...CLAIM_ALL, now: NOW, until: NOW + LEASE_MS })
    expect(due.map(({ body }) => body)).toEqual(['exhausted'])
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
      delivery: {
        id: UNKNOWN_ID,
        webhookId: one.id,
        event: 'webhook.test',
        state: { kind: 'pending', step: 0 },
      },
      claims: { deliveries: [], skipped: [] },
    })
    const claimed = await storage.deliveries.claim({
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
