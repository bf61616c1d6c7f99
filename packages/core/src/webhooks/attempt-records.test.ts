import { okAsync } from 'neverthrow'
import { expect, it } from 'vitest'
import type { AttemptRecord } from '../ports/delivery-store.js'
import { fakePlatform } from '@org/agent-messaging-testing'
import { AttemptRecords, mostWaitingRecords } from './attempt-records.js'

/** `lists`: the deliveries of each list that the storage got. */
function collecting() {
  const platform = fakePlatform()
  const lists: string[][] = []
  platform.storage.deliveries.recordAttempts = (list) => {
    lists.push(list.map(({ deliveryId }) => deliveryId))
    return okAsync(list.map(() => ({ kind: 'recorded' }) as const))
  }
  const records = new AttemptRecords(platform)
  const record = (deliveryId: string): AttemptRecord => ({
    deliveryId,
    token: 1,
    attempt: {
      startedAt: 0,
      durationMs: 1,
      outcome: { kind: 'accepted', statusCode: 204, responseBody: '' },
    },
    state: { kind: 'delivered', deliveredAt: 1 },
  })
  const store = (ids: string, mostWaiting?: number): void => {
    for (const id of ids) void records.store(record(id), mostWaiting)
  }
  return { ...platform, lists: () => lists.map((list) => list.join('')), records, record, store }
}

it.each([
  [0, 4],
  [2, 4],
  [11, 5],
  [64, 32],
  [256, 32],
])('with %i requests in flight, at most %i records wait', (inFlight, most) => {
  expect(mostWaitingRecords(inFlight)).toBe(most)
})

it('stores a record at once after a pause, and the next ones together', async () => {
  const { clock, lists, store } = collecting()
  store('a', 9)
  await clock.advance(0)
  store('bc', 9)
  await clock.advance(39)
  expect(lists()).toEqual(['a'])
  await clock.advance(1)
  expect(lists()).toEqual(['a', 'bc'])
  await clock.advance(40)
  store('de', 9)
  await clock.advance(0)
  expect(lists()).toEqual(['a', 'bc', 'de'])
})

it('stores the records at once when as many wait as can wait', async () => {
  const { clock, lists, store } = collecting()
  store('a', 4)
  await clock.advance(0)
  store('bcd', 4)
  await clock.advance(0)
  expect(lists()).toEqual(['a'])
  store('e', 4)
  await clock.advance(0)
  expect(lists()).toEqual(['a', 'bcde'])
})

it('stores a record that is in a hurry alone, and the others when it is told', async () => {
  const { clock, lists, records, store } = collecting()
  store('a', 9)
  await clock.advance(0)
  store('b', 9)
  store('c')
  expect(lists()).toEqual(['a', 'c'])
  records.flush()
  expect(lists()).toEqual(['a', 'c', 'b'])
  await clock.advance(40)
  expect(lists()).toHaveLength(3)
})

it('returns the result of each record', async () => {
  const { clock, records, record, storage } = collecting()
  storage.deliveries.recordAttempts = (list) =>
    okAsync(
      list.map(({ deliveryId }) => ({ kind: deliveryId === 'b' ? 'lease_lost' : 'recorded' })),
    )
  const stored = ['a', 'b', 'c'].map((id) => records.store(record(id), 9))
  await clock.advance(40)
  const kinds = await Promise.all(stored.map(async (one) => (await one)._unsafeUnwrap().kind))
  expect(kinds).toEqual(['recorded', 'lease_lost', 'recorded'])
})
