import { describe, expect, it } from 'vitest'
import { fakeIds } from '../testing/fake-ids.js'
import { aWebhook, BUILT_AT } from '../testing/builders.js'
import type { ClaimedDelivery } from '../ports/delivery-store.js'
import { FairQueue } from './fair-queue.js'

const policy = { deadlineMs: 1, leaseMs: 1, maxInFlight: 8, maxInFlightPerWebhook: 2, prefetch: 16 }
const ids = fakeIds()

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
  it('go round the webhooks, each with its cap', () => {
    const queue = new FairQueue(policy)
    for (const id of ['a', 'b', 'c']) add(queue, 5, id)
    expect(webhooks(startAll(queue))).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
    expect([queue.inFlight, queue.waiting]).toEqual([6, 9])
  })
  it('go to the webhook with the fewest in flight when one ends', () => {
    const queue = new FairQueue(policy)
    for (const id of ['a', 'b', 'c']) add(queue, 5, id)
    const started = startAll(queue)
    const ofB = started.filter(({ webhook }) => webhook.id === 'b')
    for (const one of ofB) queue.end(one)
    expect(webhooks(startAll(queue))).toEqual(['b', 'b'])
  })
  it('leave a quarter of the slots to other projects', () => {
    const queue = new FairQueue(policy)
    for (let n = 0; n < 10; n++) add(queue, 1, `hanging ${n}`, { projectId: 'large' })
    expect(startAll(queue)).toHaveLength(6)
    add(queue, 1, 'small', { projectId: 'small' })
    expect(webhooks(startAll(queue))).toEqual(['small'])
  })
  it('leave a slot to one more project, however many have receivers that hang and fill the buffer', () => {
    const queue = new FairQueue(policy)
    for (const projectId of ['p', 'q', 'r'])
      for (let n = 0; n < 10; n++) add(queue, 1, `${projectId} ${n}`, { projectId })
    startAll(queue)
    expect(queue.room).toBe(1)
    add(queue, 1, 'small', { projectId: 'small' })
    expect(webhooks(startAll(queue))).toEqual(['small'])
    expect(queue.room).toBe(0)
  })
  it('go to the project with the fewest in flight', () => {
    const queue = new FairQueue(policy)
    for (let n = 0; n < 10; n++) add(queue, 1, `large ${n}`, { projectId: 'large' })
    for (const id of ['small 1', 'small 2', 'small 3']) add(queue, 1, id, { projectId: 'small' })
    const started = webhooks(startAll(queue))
    expect(started.slice(0, 6).filter((id) => id.startsWith('small'))).toHaveLength(3)
    expect(started).toHaveLength(7)
  })
  it('leave a quarter of the slots to first attempts', () => {
    const queue = new FairQueue(policy)
    for (const projectId of ['p', 'q'])
      for (let n = 0; n < 9; n++) add(queue, 1, `${projectId} ${n}`, { projectId, attemptCount: 1 })
    expect(startAll(queue)).toHaveLength(6)
    add(queue, 3, 'new', { projectId: 'r' })
    expect(webhooks(startAll(queue))).toEqual(['new']) // and one for a project that has none
  })
  it('share the slots between retries and first attempts where both wait', () => {
    const queue = new FairQueue(policy)
    for (const projectId of ['p', 'q'])
      for (let n = 0; n < 9; n++)
        add(queue, 1, `${projectId} ${n}`, { projectId, attemptCount: n % 2 })
    const attempts = startAll(queue).map(({ delivery }) => delivery.attemptCount)
    expect(attempts.filter((count) => count > 0)).toHaveLength(3)
    expect(attempts).toHaveLength(7)
  })
  it('say of which webhooks and projects enough is waiting', () => {
    const queue = new FairQueue(policy)
    add(queue, 2, 'a')
    expect([...queue.full]).toEqual(['a'])
    for (const id of ['b', 'c', 'd', 'e', 'f', 'g']) add(queue, 1, id)
    expect([...queue.full]).toEqual(['a', 'project'])
    startAll(queue)
    expect([...queue.full]).toEqual([])
  })
  it('count one project for half of the buffer at most, so that there is room for others', () => {
    const queue = new FairQueue({ ...policy, maxInFlight: 1 })
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
    const queue = new FairQueue(policy)
    add(queue, 2, 'a')
    add(queue, 2, 'a', { attemptCount: 1 })
    add(queue, 1, 'b')
    expect(queue.waitingRetries).toBe(2)
    expect(queue.drop('a')).toHaveLength(4)
    expect(queue.drop('none')).toEqual([])
    expect([queue.waiting, queue.waitingRetries, queue.full.size]).toEqual([1, 0, 0])
    expect(webhooks(startAll(queue))).toEqual(['b'])
  })
  it('come to all, each once, however starts and ends alternate', () => {
    const queue = new FairQueue(policy)
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
    expect([queue.waiting, queue.inFlight, queue.full.size]).toEqual([0, 0, 0])
  })
  it('gives waiting deliveries a changed webhook, and turns none into a probe', () => {
    const queue = new FairQueue(policy)
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
