import { success } from '@org/agent-messaging-core/runtime'
import { expect, it } from 'vitest'
import { defaultPolicy } from '../policy.js'
import type { AttemptRecord } from '../ports/delivery-store.js'
import { fakePlatform, unwrap } from '@org/agent-messaging-testing'
import { AttemptRecords } from './attempt-records.js'

/** A list is full with four records. `lists`: the deliveries of each list that the storage got. */
function collecting() {
  const deliver = { ...defaultPolicy.deliver, maxInFlight: 4 }
  const platform = { ...fakePlatform(), policy: { ...defaultPolicy, deliver } }
  const lists: string[][] = []
  platform.storage.deliveries.recordAttempts = (list) => {
    lists.push(list.map(({ deliveryId }) => deliveryId))
    return Promise.resolve(success(list.map(() => ({ kind: 'recorded' }) as const)))
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
  const collect = (ids: string): void => {
    for (const id of ids) void records.collect(record(id))
  }
  return { ...platform, lists: () => lists.map((list) => list.join('')), records, record, collect }
}

it('stores a record at once after a pause, and the next ones together', async () => {
  const { clock, lists, collect } = collecting()
  collect('a')
  await clock.advance(0)
  collect('bc')
  await clock.advance(39)
  expect(lists()).toEqual(['a'])
  await clock.advance(1)
  expect(lists()).toEqual(['a', 'bc'])
  await clock.advance(40)
  collect('de')
  await clock.advance(0)
  expect(lists()).toEqual(['a', 'bc', 'de'])
})

it('stores the records at once when the list is full', async () => {
  const { clock, lists, collect } = collecting()
  collect('a')
  await clock.advance(0)
  collect('bcd')
  await clock.advance(0)
  expect(lists()).toEqual(['a'])
  collect('e')
  await clock.advance(0)
  expect(lists()).toEqual(['a', 'bcde'])
})

it('stores a record that is in a hurry alone, and the others when it is told', async () => {
  const { clock, lists, records, record, collect } = collecting()
  collect('a')
  await clock.advance(0)
  collect('b')
  void records.store(record('c'))
  expect(lists()).toEqual(['a', 'c'])
  records.flush()
  expect(lists()).toEqual(['a', 'c', 'b'])
  await clock.advance(40)
  expect(lists()).toHaveLength(3)
})

it('returns the result of each record', async () => {
  const { clock, records, record, storage } = collecting()
  storage.deliveries.recordAttempts = (list) =>
    Promise.resolve(
      success(
        list.map(({ deliveryId }) => ({ kind: deliveryId === 'b' ? 'lease_lost' : 'recorded' })),
      ),
    )
  const stored = ['a', 'b', 'c'].map((id) => records.collect(record(id)))
  await clock.advance(40)
  const kinds = await Promise.all(stored.map(async (one) => unwrap(await one).kind))
  expect(kinds).toEqual(['recorded', 'lease_lost', 'recorded'])
})
