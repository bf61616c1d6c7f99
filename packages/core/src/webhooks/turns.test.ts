import { describe, expect, it } from 'vitest'
import { fakeIds } from '../testing/fake-ids.js'
import { aWebhook, BUILT_AT } from '../testing/builders.js'
import type { ClaimedDelivery } from '../ports/delivery-store.js'
import { createTurns, type Turns } from './turns.js'

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
  turns: Turns,
  times: number,
  webhookId: string,
  more?: { projectId?: string; attemptCount?: number },
): void {
  for (let n = 0; n < times; n++)
    turns.add({ claimed: claimed(webhookId, more), done: () => undefined })
}

/** Starts all that may start. */
function startAll(turns: Turns): ClaimedDelivery[] {
  const started = []
  for (let next = turns.start(); next; next = turns.start()) started.push(next.claimed)
  return started
}

const webhooks = (started: readonly ClaimedDelivery[]) => started.map(({ webhook }) => webhook.id)

describe('turns', () => {
  it('go round the webhooks, each with its cap', () => {
    const turns = createTurns(policy)
    for (const id of ['a', 'b', 'c']) add(turns, 5, id)
    expect(webhooks(startAll(turns))).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
    expect([turns.inFlight, turns.waiting]).toEqual([6, 9])
  })
  it('go to the webhook with the fewest in flight when one ends', () => {
    const turns = createTurns(policy)
    for (const id of ['a', 'b', 'c']) add(turns, 5, id)
    const started = startAll(turns)
    const ofB = started.filter(({ webhook }) => webhook.id === 'b')
    for (const one of ofB) turns.end(one)
    expect(webhooks(startAll(turns))).toEqual(['b', 'b'])
  })
  it('leave a quarter of the slots to other projects', () => {
    const turns = createTurns(policy)
    for (let n = 0; n < 10; n++) add(turns, 1, `hanging ${n}`, { projectId: 'large' })
    expect(startAll(turns)).toHaveLength(6)
    add(turns, 1, 'small', { projectId: 'small' })
    expect(webhooks(startAll(turns))).toEqual(['small'])
  })
  it('leave a slot to one more project, however many have receivers that hang and fill the buffer', () => {
    const turns = createTurns(policy)
    for (const projectId of ['p', 'q', 'r'])
      for (let n = 0; n < 10; n++) add(turns, 1, `${projectId} ${n}`, { projectId })
    startAll(turns)
    expect(turns.room).toBe(1)
    add(turns, 1, 'small', { projectId: 'small' })
    expect(webhooks(startAll(turns))).toEqual(['small'])
    expect(turns.room).toBe(0)
  })
  it('go to the project with the fewest in flight', () => {
    const turns = createTurns(policy)
    for (let n = 0; n < 10; n++) add(turns, 1, `large ${n}`, { projectId: 'large' })
    for (const id of ['small 1', 'small 2', 'small 3']) add(turns, 1, id, { projectId: 'small' })
    const started = webhooks(startAll(turns))
    expect(started.slice(0, 6).filter((id) => id.startsWith('small'))).toHaveLength(3)
    expect(started).toHaveLength(7)
  })
  it('leave a quarter of the slots to first attempts', () => {
    const turns = createTurns(policy)
    for (const projectId of ['p', 'q'])
      for (let n = 0; n < 9; n++) add(turns, 1, `${projectId} ${n}`, { projectId, attemptCount: 1 })
    expect(startAll(turns)).toHaveLength(6)
    add(turns, 3, 'new', { projectId: 'r' })
    expect(webhooks(startAll(turns))).toEqual(['new']) // and one for a project that has none
  })
  it('share the slots between retries and first attempts where both wait', () => {
    const turns = createTurns(policy)
    for (const projectId of ['p', 'q'])
      for (let n = 0; n < 9; n++)
        add(turns, 1, `${projectId} ${n}`, { projectId, attemptCount: n % 2 })
    const attempts = startAll(turns).map(({ delivery }) => delivery.attemptCount)
    expect(attempts.filter((count) => count > 0)).toHaveLength(3)
    expect(attempts).toHaveLength(7)
  })
  it('say of which webhooks and projects enough is waiting', () => {
    const turns = createTurns(policy)
    add(turns, 2, 'a')
    expect([...turns.full]).toEqual(['a'])
    for (const id of ['b', 'c', 'd', 'e', 'f', 'g']) add(turns, 1, id)
    expect([...turns.full]).toEqual(['a', 'project'])
    startAll(turns)
    expect([...turns.full]).toEqual([])
  })
  it('count one project for half of the buffer at most, so that there is room for others', () => {
    const turns = createTurns({ ...policy, maxInFlight: 1 })
    add(turns, 3, 'a')
    expect(turns.room).toBe(13)
    add(turns, 30, 'b')
    expect(turns.room).toBe(8)
    add(turns, 3, 'c', { projectId: 'other' })
    expect(turns.room).toBe(5)
    turns.drop('b')
    expect(turns.room).toBe(10)
  })
  it('drop what waits for one webhook, and go on with the others', () => {
    const turns = createTurns(policy)
    add(turns, 2, 'a')
    add(turns, 2, 'a', { attemptCount: 1 })
    add(turns, 1, 'b')
    expect(turns.waitingRetries).toBe(2)
    expect(turns.drop('a')).toHaveLength(4)
    expect(turns.drop('none')).toEqual([])
    expect([turns.waiting, turns.waitingRetries, turns.full.size]).toEqual([1, 0, 0])
    expect(webhooks(startAll(turns))).toEqual(['b'])
  })
  it('come to all, each once, however starts and ends alternate', () => {
    const turns = createTurns(policy)
    for (let n = 0; n < 60; n++)
      add(turns, 1, `w${n % 7}`, { projectId: `p${(n % 7) % 3}`, attemptCount: n % 2 })
    const seen = new Set<string>()
    for (let started = startAll(turns); started.length > 0; started = startAll(turns)) {
      expect(turns.inFlight).toBeLessThanOrEqual(8)
      for (const one of started) {
        seen.add(one.delivery.id)
        turns.end(one)
      }
    }
    expect(seen.size).toBe(60)
    expect([turns.waiting, turns.inFlight, turns.full.size]).toEqual([0, 0, 0])
  })
  it('show what waits a changed webhook, but make no probe of what was claimed as none', () => {
    const turns = createTurns(policy)
    add(turns, 1, 'a')
    const circuit = { kind: 'open', until: BUILT_AT, trips: 1 } as const
    turns.renew({
      ...aWebhook({ id: 'a', url: 'https://new.example' }),
      health: { consecutiveFailures: 5, circuit },
    })
    expect(startAll(turns)[0]?.webhook).toMatchObject({
      url: 'https://new.example',
      health: { circuit: { kind: 'closed' } },
    })
  })
})
