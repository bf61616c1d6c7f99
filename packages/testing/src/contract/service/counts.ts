import { expect } from 'vitest'
import type { Agent } from '@org/agent-messaging-core'
import type { Count, Counts, CountsQuery, PeoplePlace } from '@org/agent-messaging-core/storage'
import { newMessage, PROJECT_ID } from '../../builders.js'
import { accepted } from '../../fakes/fake-sender.js'
import { heldBy, LEASE_MS, NOW, OTHER_PROJECT_ID, refTo } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const STEP = 300_000
const HOUR = 3_600_000
const DAY = 86_400_000
const AT = 20_000 * DAY
const ALL = {
  projectId: PROJECT_ID,
  subject: 'project',
  stepMs: STEP,
  from: 0,
  to: AT + DAY,
} as const
const MOST = 1_000

const ofAgent = (counts: Counts, more: Partial<Count> = {}): Count => ({
  ...{ projectId: PROJECT_ID, subject: 'agent', id: 'a', at: AT, counts },
  ...more,
})

const by = (endUserId: string) => ({ executionPrincipal: { type: 'end_user', endUserId } }) as const

/** Reads before the entries are folded and after it. */
async function readTwice(
  { counts }: UnwrappedStorage,
  query: Partial<CountsQuery> = {},
): Promise<object[]> {
  const read = async () =>
    (await counts.read({ ...ALL, ...query })).map(({ at, id, counts: found }) => [
      at - AT,
      id,
      found,
    ])
  const before = await read()
  while ((await counts.fold(2)).hasMore) continue
  expect(await read()).toEqual(before)
  return before
}

export function countsSuite(it: StorageTest): void {
  it('sums the counts of new messages by subject and step', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const other = await scene.agent({ projectId: OTHER_PROJECT_ID })
    const count = ofAgent({ messages: 1, bytesIn: 10 })
    await scene.send(agent, { sessionId: 'a', count })
    await scene.send(agent, { sessionId: 'b', count: { ...count, id: 'b', at: AT + STEP - 1 } })
    await scene.send(agent, { sessionId: 'c', count: { ...count, at: AT + STEP } })
    await scene.send(agent, { sessionId: 'd' })
    await scene.send(other, { count: { ...count, projectId: OTHER_PROJECT_ID } })
    const one = { messages: 1, bytesIn: 10 }
    const two = { messages: 2, bytesIn: 20 }
    expect(await readTwice(storage)).toEqual([
      [0, '', two],
      [STEP, '', one],
    ])
    expect(await readTwice(storage, { subject: 'agent' })).toEqual([
      [0, 'a', one],
      [0, 'b', one],
      [STEP, 'a', one],
    ])
    expect(await readTwice(storage, { subject: 'agent', id: 'b' })).toEqual([[0, 'b', one]])
    expect(await readTwice(storage, { stepMs: HOUR })).toEqual([
      [0, '', { messages: 3, bytesIn: 30 }],
    ])
    expect(await readTwice(storage, { from: AT + 1 })).toEqual([[STEP, '', one]])
    expect(await readTwice(storage, { to: AT })).toEqual([[0, '', two]])
    expect(await readTwice(storage, { projectId: OTHER_PROJECT_ID })).toEqual([[0, '', one]])
  })

  it('adds to rows that were folded before', async ({ storage, scene }) => {
    const agent = await scene.agent()
    for (const sessionId of ['a', 'b', 'c']) {
      await scene.send(agent, { sessionId, count: ofAgent({ messages: 1 }) })
      await storage.counts.fold(MOST)
    }
    expect(await readTwice(storage)).toEqual([[0, '', { messages: 3 }]])
    expect(await readTwice(storage, { stepMs: DAY })).toEqual([[0, '', { messages: 3 }]])
  })

  it('folds any size of entries', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const names = Array.from({ length: 20_000 }, (_, n) => `time:${n}` as const)
    const counts: Counts = Object.fromEntries(names.map((name) => [name, 1]))
    for (const sessionId of ['a', 'b', 'c'])
      await scene.send(agent, { sessionId, count: ofAgent({ ...counts, messages: 1 }) })
    expect(await readTwice(storage)).toMatchObject([[0, '', { messages: 3, 'time:19999': 3 }]])
    expect(await storage.counts.fold(MOST)).toEqual({ folded: 0, hasMore: false })
  })

  it('adds the counts of each message of a batch', async ({ storage, scene }) => {
    const agents = [await scene.agent(), await scene.agent({ projectId: OTHER_PROJECT_ID })]
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        const agent = agents[n % 2] as (typeof agents)[number]
        const at = AT + (n % 4 < 2 ? 0 : STEP)
        const count = ofAgent({ messages: 1, bytesIn: n }, { projectId: agent.projectId, at })
        return scene.send(agent, { sessionId: `s${n}`, count })
      }),
    )
    expect(await readTwice(storage)).toEqual([
      [0, '', { messages: 10, bytesIn: 180 }],
      [STEP, '', { messages: 10, bytesIn: 200 }],
    ])
    expect(await readTwice(storage, { projectId: OTHER_PROJECT_ID })).toEqual([
      [0, '', { messages: 10, bytesIn: 190 }],
      [STEP, '', { messages: 10, bytesIn: 210 }],
    ])
  })

  it('adds nothing for a repeated send and for a refused one', async ({ storage, scene }) => {
    const agent = await scene.agent({ maxQueued: 1 })
    const count = ofAgent({ messages: 1 })
    const message = newMessage(agent, { idempotencyKey: 'key', count })
    await Promise.all([
      storage.messages.accept(message),
      scene.send(agent, { sessionId: 'x', count }),
    ])
    await storage.messages.accept(message)
    await Promise.all([
      storage.messages.accept(newMessage(agent, { idempotencyKey: 'key', count })),
      scene.send(agent, { sessionId: 'y', count }),
    ])
    await storage.messages.accept(newMessage(agent, { count }))
    const full = await storage.messages.accept(newMessage(agent, { count }))
    expect(full.kind).toBe('session_full')
    expect(await readTwice(storage)).toEqual([[0, '', { messages: 4 }]])
  })

  it('adds the counts of a recorded run once', async ({ storage, scene }) => {
    const claimed = await scene.run(await scene.agent())
    const record = {
      ...heldBy(claimed),
      state: { kind: 'responded', response: 'yes', respondedAt: NOW, responseTimeMs: 1 },
      now: NOW,
      count: ofAgent({ runs: 1, answered: 1, 'time:3': 1 }),
    } as const
    await storage.messages.recordRun(record)
    expect((await storage.messages.recordRun(record)).kind).toBe('lease_lost')
    expect(await readTwice(storage)).toEqual([[0, '', { runs: 1, answered: 1, 'time:3': 1 }]])
  })

  it('adds the counts of a run that asks, and of a question that ends its message', async ({
    storage,
    scene,
  }) => {
    const claimed = await scene.run(await scene.agent())
    const asked = { id: 'question', question: 'Which one?', askedAt: NOW }
    const outgoing = { events: [], nextDeliveryId: () => 'none' }
    await storage.messages.ask({
      ...heldBy(claimed),
      state: { kind: 'input_required', askedAt: NOW, deadlineAt: NOW + 2, dueAt: NOW + 1 },
      inputs: [asked],
      outgoing,
      count: ofAgent({ runs: 1 }),
    })
    const change = {
      ...refTo(claimed.message),
      inputId: 'question',
      state: { kind: 'failed', error: { code: 'INPUT_EXPIRED', message: 'x' }, failedAt: NOW },
      inputs: [asked],
      now: NOW,
      outgoing,
      count: ofAgent({ failed: 1 }),
    } as const
    expect((await storage.messages.changeInput(change))?.kind).toBe('changed')
    expect((await storage.messages.changeInput(change))?.kind).toBe('not_waiting')
    expect(await readTwice(storage)).toEqual([[0, '', { runs: 1, failed: 1 }]])
  })

  it('adds the count of a cancellation once', async ({ storage, scene }) => {
    const message = await scene.send(await scene.agent())
    const cancellation = {
      ...refTo(message),
      state: { kind: 'cancelled', cancelledAt: NOW },
      outgoing: { events: [], nextDeliveryId: () => 'none' },
      count: ofAgent({ cancelled: 1 }),
    } as const
    expect((await storage.messages.cancel(cancellation))?.kind).toBe('cancelled')
    expect((await storage.messages.cancel(cancellation))?.kind).toBe('already_final')
    expect(await readTwice(storage)).toEqual([[0, '', { cancelled: 1 }]])
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
        count: ofAgent({ attempts: 1, 'class:2xx': 1 }, { subject: 'webhook', id: 'w' }),
        endCount: ofAgent({ deliveries: 1 }, { subject: 'webhook', id: 'w', at: AT + STEP }),
        ...(changesHealth && { decideHealth: () => undefined, receiverId: delivery.webhookId }),
      } as const
      await storage.deliveries.recordAttempt(record)
      expect((await storage.deliveries.recordAttempt(record)).kind).toBe('lease_lost')
    }
    const counts = { attempts: 2, 'class:2xx': 2 }
    const rows = (id: string) => [
      [0, id, counts],
      [STEP, id, { deliveries: 2 }],
    ]
    expect(await readTwice(storage, { subject: 'webhook' })).toEqual(rows('w'))
    expect(await readTwice(storage)).toEqual(rows(''))
  })

  it('keeps coarse steps when fine ones are purged', async ({ storage, scene }) => {
    const agent = await scene.agent()
    for (const at of [AT, AT + STEP, AT + HOUR])
      await scene.send(agent, { sessionId: `${at}`, count: ofAgent({ messages: 1 }, { at }) })
    await storage.counts.fold(MOST)
    const purge = { stepMs: STEP, before: AT + STEP, limit: 10 }
    expect(await storage.counts.purge(purge)).toBe(2) // of the agent and of the project
    expect(await storage.counts.purge(purge)).toBe(0)
    expect(await readTwice(storage)).toEqual([
      [STEP, '', { messages: 1 }],
      [HOUR, '', { messages: 1 }],
    ])
    expect(await readTwice(storage, { stepMs: DAY })).toEqual([[0, '', { messages: 3 }]])
  })

  it('reads up to a number of folded rows', async ({ storage, scene }) => {
    const agent = await scene.agent()
    for (const at of [AT, AT + STEP, AT + HOUR])
      await scene.send(agent, { sessionId: `${at}`, count: ofAgent({ messages: 1 }, { at }) })
    await storage.counts.fold(MOST)
    expect(await storage.counts.read({ ...ALL, limit: 2 })).toHaveLength(2)
    expect(await storage.counts.read({ ...ALL, limit: 4 })).toHaveLength(3)
  })

  it('counts the people of a day in pages, across the agents of a project and of each', async ({
    storage,
    scene,
  }) => {
    const agents = [await scene.agent(), await scene.agent(), await scene.agent()]
    const send = (agent: Agent, endUserId: string, now = AT) =>
      scene.send(agent, { ...by(endUserId), sessionId: endUserId, now })
    for (const [n, agent] of agents.entries()) {
      for (let user = n; user < 12; user += n + 1) await send(agent, `u${user}`, AT + user)
      await scene.send(agent, { sessionId: 'service', now: AT })
    }
    const [agent] = agents as [Agent]
    await send(agent, 'ü 𝒳 "', AT + DAY - 1)
    await send(agent, 'u1')
    await send(agent, 'earlier', AT - 1)
    await send(agent, 'later', AT + DAY)
    await send(await scene.agent({ projectId: OTHER_PROJECT_ID }), 'other')
    const ids = agents.map(({ id }) => id)
    const countOf = async (limit: number, agentId?: string) => {
      let people = 0
      let pages = 0
      const ofAgents = new Map<string, number>()
      let after: string | undefined
      const of = { projectId: PROJECT_ID, agentId, day: AT, limit }
      do {
        const page = await storage.counts.people({ ...of, after })
        people += page.people
        for (const [id, count] of Object.entries(page.ofAgents))
          ofAgents.set(id, (ofAgents.get(id) ?? 0) + count)
        after = page.next
        pages++
      } while (after !== undefined)
      return { people, pages, ofAgents: ids.map((id) => ofAgents.get(id)) }
    }
    for (const limit of [1, 10, 1_000]) {
      const { people, pages, ofAgents } = await countOf(limit)
      expect([people, ofAgents]).toEqual([13, [13, 6, 4]])
      expect(pages > 1).toBe(limit < 1_000)
      const ofSecond = await countOf(limit, ids[1])
      expect(ofSecond).toMatchObject({ people: 6, ofAgents: [undefined, 6, undefined] })
    }
    const idle = await scene.agent()
    const ofIdle = { projectId: PROJECT_ID, agentId: idle.id, day: AT, limit: 10 }
    expect(await storage.counts.people(ofIdle)).toEqual({ people: 0, ofAgents: { [idle.id]: 0 } })
    const none = { projectId: 'none', day: AT, limit: 10 }
    expect(await storage.counts.people(none)).toEqual({ people: 0, ofAgents: {} })
  })

  it('stores the people of a day once, beside its other counts', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const count = ofAgent({ messages: 1 })
    await scene.send(agent, { sessionId: 'a', count })
    await storage.counts.fold(MOST)
    await scene.send(agent, { sessionId: 'b', count })
    const from = await storage.counts.peoplePlace()
    expect(from).toEqual({ until: 0, after: '' })
    const day = { until: AT, after: '' }
    const ofProjects = [PROJECT_ID, OTHER_PROJECT_ID, 'idle'].map((after) => ({ until: AT, after }))
    const [mine, other, idle] = ofProjects as [PeoplePlace, PeoplePlace, PeoplePlace]
    const next = { until: AT + DAY, after: '' }
    expect(await storage.counts.movePeople({ from, to: day })).toBe(true)
    const of = (people: number, ofAgents = {}) => ({ people: { people, ofAgents } })
    const kept = { from: day, to: mine, ...of(7, { a: 3, idle: 0 }) }
    expect(await storage.counts.movePeople(kept)).toBe(true)
    expect(await storage.counts.movePeople(kept)).toBe(false)
    await storage.counts.movePeople({ from: mine, to: other, ...of(1) })
    await storage.counts.movePeople({ from: other, to: idle, ...of(0) })
    await storage.counts.movePeople({ from: idle, to: next })
    expect(await storage.counts.peoplePlace()).toEqual(next)
    const ofDay = (projectId: string) => readTwice(storage, { projectId, stepMs: DAY })
    const ofAgents = () => readTwice(storage, { subject: 'agent', stepMs: DAY })
    expect(await ofAgents()).toEqual([[0, 'a', { messages: 2, people: 3 }]])
    expect(await ofDay(PROJECT_ID)).toEqual([[0, '', { messages: 2, people: 7 }]])
    expect(await ofDay(OTHER_PROJECT_ID)).toEqual([[0, '', { people: 1 }]])
    expect(await ofDay('idle')).toEqual([])

    await storage.counts.movePeople({ from: next, to: day })
    await storage.counts.movePeople({ from: day, to: mine, ...of(5, { a: 4 }) })
    expect(await ofDay(PROJECT_ID)).toEqual([[0, '', { messages: 2, people: 7 }]])
    expect(await ofAgents()).toEqual([[0, 'a', { messages: 2, people: 4 }]])
    expect(await readTwice(storage)).toEqual([[0, '', { messages: 2 }]])
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
