import { describe, expect, it } from 'vitest'
import { fakeIds, aWebhook, BUILT_AT, fakeClock, fakePlatform } from '@org/agent-messaging-testing'
import type { ClaimedDelivery } from '../ports/delivery-store.js'
import type { LimitCeiling } from '../domain/webhooks/webhook-limit.js'
import { defaultPolicy, type DeliverPolicy } from '../policy.js'
import type { WorkPhase } from '../pacing/work-loop.js'
import { FairQueue } from './fair-queue.js'
import { Receivers } from './receivers.js'

const policy = { deadlineMs: 1, leaseMs: 1, maxInFlight: 8, prefetch: 16 }
const ids = fakeIds()
const clock = fakeClock()
const opened: string[] = []

/** A queue whose webhooks have two slots each. */
function queueOf(own: DeliverPolicy = policy, ceiling: LimitCeiling = { concurrency: 2 }) {
  const { concurrency: maxConcurrency, requestsPerSecond } = ceiling
  const deliver = { ...own, maxConcurrency, requestsPerSecond }
  const platform = { ...fakePlatform(), clock, policy: { ...defaultPolicy, deliver } }
  const phase = { now: 'stopped' } as { now: WorkPhase }
  const changed = (): void => undefined
  const receivers = new Receivers(platform, () => phase.now, changed)
  const queue = new FairQueue(platform, receivers, (id) => opened.push(id))
  return { queue, receivers, phase }
}

function claimed(
  webhookId: string,
  { projectId = 'project', attemptCount = 0 } = {},
): ClaimedDelivery {
  const webhook = aWebhook({ id: webhookId, projectId })
  const state = { kind: 'sending', leaseUntil: BUILT_AT, step: 0 } as const
  const delivery = {
    id: ids.next(),
    projectId,
    webhookId,
    eventId: 'e',
    event: 'agent.error',
    attemptCount,
    state,
    createdAt: BUILT_AT,
  } as const
  return { delivery, webhook, lease: { token: 1, until: BUILT_AT }, body: '' }
}

function add(
  queue: FairQueue,
  times: number,
  webhookId: string,
  more?: { projectId?: string; attemptCount?: number },
): void {
  for (let n = 0; n < times; n++)
    queue.add({ claimed: claimed(webhookId, more), done: () => undefined })
}

/** Starts every delivery that can start. */
function startAll(queue: FairQueue): ClaimedDelivery[] {
  const started = []
  for (let next = queue.start(); next; next = queue.start()) started.push(next.claimed)
  return started
}

const webhooks = (started: readonly ClaimedDelivery[]) => started.map(({ webhook }) => webhook.id)

describe('FairQueue', () => {
  it('go round the webhooks, each with its limit', () => {
    const { queue } = queueOf({ ...policy, maxInFlight: 12 })
    for (const id of ['a', 'b', 'c']) add(queue, 5, id)
    expect(webhooks(startAll(queue))).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
    expect([queue.inFlight, queue.waiting]).toEqual([6, 9])
  })
  it('let the hooks of one origin share a queue, and tell them apart', () => {
    const { queue } = queueOf({ ...policy, maxInFlight: 12 })
    const hooked = (id: string, path = id) => {
      const one = claimed(id)
      const url = `https://dead.example/${path}`
      return { ...one, webhook: { ...one.webhook, url, hook: { messageId: id } } }
    }
    const ofHooks = ['h1', 'h2', 'h3', 'h4', 'h5'].map((id) => hooked(id))
    for (const one of ofHooks) queue.add({ claimed: one, done: () => undefined })
    add(queue, 2, 'a')
    expect(webhooks(startAll(queue))).toEqual(['h1', 'a', 'h2', 'a'])
    expect([...queue.limited]).toEqual(['hooks project https://dead.example'])
    queue.updateWebhook(hooked('h3', 'moved').webhook)
    expect(queue.drop('h4', 'other')).toEqual([])
    expect(queue.drop('h4').map(({ claimed: { webhook } }) => webhook.id)).toEqual(['h4'])
    const left = queue.drop('hooks project https://dead.example')
    expect(left.map(({ claimed: { webhook } }) => webhook.url)).toEqual([
      'https://dead.example/moved',
      'https://dead.example/h5',
    ])
  })
  it('name the webhooks whose limit keeps a delivery waiting', () => {
    const { queue } = queueOf({ ...policy, maxInFlight: 12 })
    add(queue, 2, 'a')
    add(queue, 3, 'b')
    expect([...queue.limited]).toEqual([])
    const started = startAll(queue)
    expect([...queue.limited]).toEqual(['b'])
    for (const one of started) queue.end(one)
    expect([...queue.limited]).toEqual([])
  })
  it('go to the webhook with the fewest in flight when one ends', () => {
    const { queue } = queueOf({ ...policy, maxInFlight: 12 })
    for (const id of ['a', 'b', 'c']) add(queue, 5, id)
    const started = startAll(queue)
    const ofB = started.filter(({ webhook }) => webhook.id === 'b')
    for (const one of ofB) queue.end(one)
    expect(webhooks(startAll(queue))).toEqual(['b', 'b'])
  })
  it('leave a quarter of the slots to other projects', () => {
    const { queue } = queueOf()
    for (let n = 0; n < 10; n++) add(queue, 1, `hanging ${n}`, { projectId: 'large' })
    expect(startAll(queue)).toHaveLength(6)
    add(queue, 1, 'small', { projectId: 'small' })
    expect(webhooks(startAll(queue))).toEqual(['small'])
  })
  it('leave a slot to one more project, however many have receivers that hang and fill the buffer', () => {
    const { queue } = queueOf()
    for (const projectId of ['p', 'q', 'r'])
      for (let n = 0; n < 10; n++) add(queue, 1, `${projectId} ${n}`, { projectId })
    startAll(queue)
    expect(queue.room).toBe(1)
    add(queue, 1, 'small', { projectId: 'small' })
    expect(webhooks(startAll(queue))).toEqual(['small'])
    expect(queue.room).toBe(0)
  })
  it('go to the project with the fewest in flight', () => {
    const { queue } = queueOf()
    for (let n = 0; n < 10; n++) add(queue, 1, `large ${n}`, { projectId: 'large' })
    for (const id of ['small 1', 'small 2', 'small 3']) add(queue, 1, id, { projectId: 'small' })
    const started = webhooks(startAll(queue))
    expect(started.slice(0, 6).filter((id) => id.startsWith('small'))).toHaveLength(3)
    expect(started).toHaveLength(7)
  })
  it('leave a quarter of the slots to first attempts', () => {
    const { queue } = queueOf()
    for (const projectId of ['p', 'q'])
      for (let n = 0; n < 9; n++) add(queue, 1, `${projectId} ${n}`, { projectId, attemptCount: 1 })
    expect(startAll(queue)).toHaveLength(6)
    add(queue, 3, 'new', { projectId: 'r' })
    expect(webhooks(startAll(queue))).toEqual(['new']) // and one for a project that has none
  })
  it('share the slots between retries and first attempts where both wait', () => {
    const { queue } = queueOf()
    for (const projectId of ['p', 'q'])
      for (let n = 0; n < 9; n++)
        add(queue, 1, `${projectId} ${n}`, { projectId, attemptCount: n % 2 })
    const attempts = startAll(queue).map(({ delivery }) => delivery.attemptCount)
    expect(attempts.filter((count) => count > 0)).toHaveLength(3)
    expect(attempts).toHaveLength(7)
  })
  it('leave slots to other webhooks of the project', () => {
    const { queue } = queueOf({ ...policy, maxInFlight: 64, prefetch: 512 }, {})
    add(queue, 200, 'large')
    // The limit grows with each accepted request.
    const inFlight = startAll(queue)
    for (let n = 0; n < 60; n++) {
      const answer = { verdict: 'accepted', startedAt: clock.elapsed(), retryAfterMs: 0 } as const
      const ended = inFlight.shift()
      if (ended) queue.end(ended, answer)
      inFlight.push(...startAll(queue))
    }
    expect(queue.inFlight).toBe(44)
    for (let n = 0; n < 9; n++) add(queue, 1, `small ${n}`)
    expect(startAll(queue)).toHaveLength(4)
  })
  it('say of which webhooks and projects enough is waiting', () => {
    const { queue } = queueOf({ ...policy, maxInFlight: 12 })
    add(queue, 4, 'a')
    expect([...queue.except]).toEqual(['a'])
    for (const id of ['b', 'c', 'd', 'e']) add(queue, 1, id)
    expect([...queue.except]).toEqual(['a', 'project'])
    startAll(queue)
    expect([...queue.except]).toEqual([])
  })
  it('say when a webhook or project has room again, and keep a closed webhook out', () => {
    opened.length = 0
    const { queue, receivers, phase } = queueOf({ ...policy, maxInFlight: 12 })
    add(queue, 8, 'a')
    phase.now = 'running' // and the shares of this process are not known
    expect(receivers.close(aWebhook({ id: 'a' }))).toBe(true)
    queue.drop('a')
    expect([[...queue.except], opened]).toEqual([['a'], ['project']])
    receivers.open('a')
    queue.updateExcept('a')
    queue.updateExcept('a')
    expect([[...queue.except], opened]).toEqual([[], ['project', 'a']])
  })
  it('say how many more deliveries of a webhook can wait: two rounds of its slots', () => {
    const { queue } = queueOf()
    expect(queue.rooms.get('unknown')).toBe(4)
    add(queue, 3, 'a')
    expect(queue.rooms.get('a')).toBe(1)
    add(queue, 3, 'a')
    expect(queue.rooms.get('a')).toBe(0)
  })
  it('keep a webhook full until half of its room is free', () => {
    const { queue } = queueOf()
    add(queue, 5, 'a')
    startAll(queue)
    expect([queue.waiting, queue.except.has('a')]).toEqual([3, true])
    queue.drop('a')
    expect(queue.except.has('a')).toBe(false)
  })
  it('do not count a delivery that was not sent against the pace', () => {
    const { queue } = queueOf(policy, { requestsPerSecond: 10 })
    add(queue, 2, 'a')
    const [first] = startAll(queue)
    if (first) queue.end(first)
    expect(startAll(queue)).toHaveLength(1)
  })
  it('start the deliveries of a paced webhook one after the other', async () => {
    const { queue } = queueOf(policy, { requestsPerSecond: 10 })
    add(queue, 3, 'a')
    const [first] = startAll(queue)
    expect([first?.webhook.id, queue.nextStartAt - clock.elapsed()]).toEqual(['a', 100])
    const answer = { verdict: 'accepted', startedAt: clock.elapsed(), retryAfterMs: 0 } as const
    if (first) queue.end(first, answer)
    queue.resume()
    expect(startAll(queue)).toHaveLength(0)
    await clock.advance(100)
    queue.resume()
    expect(startAll(queue)).toHaveLength(1)
    expect(queue.nextStartAt - clock.elapsed()).toBe(100)
    queue.drop('a')
    queue.resume()
    expect(queue.nextStartAt).toBe(Infinity)
  })
  it('count one project for half of the buffer at most, so that there is room for others', () => {
    const { queue } = queueOf({ ...policy, maxInFlight: 1 })
    add(queue, 3, 'a')
    expect(queue.room).toBe(13)
    add(queue, 30, 'b')
    expect(queue.room).toBe(8)
    add(queue, 3, 'c', { projectId: 'other' })
    expect(queue.room).toBe(5)
    queue.drop('b')
    expect(queue.room).toBe(10)
  })
  it('drop what waits for one webhook, and go on with the others', () => {
    const { queue } = queueOf()
    add(queue, 2, 'a')
    add(queue, 2, 'a', { attemptCount: 1 })
    add(queue, 1, 'b')
    expect(queue.waitingRetries).toBe(2)
    expect(queue.drop('a')).toHaveLength(4)
    expect(queue.drop('none')).toEqual([])
    expect([queue.waiting, queue.waitingRetries, queue.except.size]).toEqual([1, 0, 0])
    expect(webhooks(startAll(queue))).toEqual(['b'])
  })
  it('come to all, each once, however starts and ends alternate', () => {
    const { queue } = queueOf()
    for (let n = 0; n < 60; n++)
      add(queue, 1, `w${n % 7}`, { projectId: `p${(n % 7) % 3}`, attemptCount: n % 2 })
    const seen = new Set<string>()
    for (let started = startAll(queue); started.length > 0; started = startAll(queue)) {
      expect(queue.inFlight).toBeLessThanOrEqual(8)
      for (const one of started) {
        seen.add(one.delivery.id)
        queue.end(one)
      }
    }
    expect(seen.size).toBe(60)
    expect([queue.waiting, queue.inFlight, queue.except.size]).toEqual([0, 0, 0])
  })
  it('has spare slots while a webhook, and all together, take at most half of theirs', () => {
    const { queue } = queueOf({ ...policy, maxInFlight: 16 }, { concurrency: 4 })
    const startsOf = (webhookId: string): boolean[] => {
      add(queue, 3, webhookId, { projectId: webhookId })
      return Array.from({ length: 3 }, () => {
        const next = queue.start()
        return next !== undefined && queue.hasSpareSlots(next.claimed)
      })
    }
    for (const id of ['a', 'b', 'c']) expect(startsOf(id)).toEqual([true, true, false])
    expect(startsOf('d')).toEqual([false, false, false])
  })
  it('gives waiting deliveries a changed webhook, and turns none into a probe', () => {
    const { queue } = queueOf()
    add(queue, 1, 'a')
    const circuit = { kind: 'open', until: BUILT_AT, trips: 1 } as const
    queue.updateWebhook({
      ...aWebhook({ id: 'a', url: 'https://new.example' }),
      health: { consecutiveFailures: 5, circuit },
    })
    expect(startAll(queue)[0]?.webhook).toMatchObject({
      url: 'https://new.example',
      health: { circuit: { kind: 'closed' } },
    })
  })
})
