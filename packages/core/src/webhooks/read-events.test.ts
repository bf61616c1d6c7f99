import { expect, it } from 'vitest'
import type { Reading } from '../platform.js'
import type { NewestEvents } from '../ports/event-store.js'
import { success } from '../ports/port-result.js'
import { listEvents } from './read-events.js'

/** A log of 20,001 events, whose names are `a.7` and so on. */
const newest = ({ before = 'p20001', limit }: NewestEvents) => {
  const at = Number(before.slice(1))
  const length = Math.min(limit, at)
  const events = Array.from({ length }, (_, n) => ({
    id: `${at - n}`,
    name: `a.${at - n}`,
    createdAt: at - n,
    hasDeliveries: false,
    place: `p${at - n - 1}`,
  }))
  return Promise.resolve(success(events))
}
const list = listEvents({ storage: { events: { newest } } } as unknown as Reading)

it('a page of events with a filter ends after 10,000 events, and says how far it looked', async () => {
  const asked = { projectId: 'p', types: ['a.5', 'a.20000'], limit: 2 }
  const first = (await list(asked))._unsafeUnwrap()
  expect(first).toMatchObject({
    data: [{ id: '20000' }],
    nextCursor: 'p10001',
    lookedBackTo: 10_002,
  })
  const second = (await list({ ...asked, cursor: 'p10001' }))._unsafeUnwrap()
  expect(second).toMatchObject({ data: [{ id: '5' }], lookedBackTo: 2 })
})

it('a page of events ends at the first ones that are too old', async () => {
  const page = (await list({ projectId: 'p', createdAfter: 19_999 }))._unsafeUnwrap()
  expect(page).toMatchObject({
    data: [{ id: '20001' }, { id: '20000' }, { id: '19999' }],
    nextCursor: null,
  })
})
