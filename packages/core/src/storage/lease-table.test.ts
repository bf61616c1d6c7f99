import { expect, it } from 'vitest'
import { LeaseTable } from './lease-table.js'

const ID = '01890000-0000-7000-8000-00000000000a'

it('a full lease table ignores leases until a slot is free', () => {
  const table = new LeaseTable(1)
  table.add({ messageId: ID, token: 1, until: 7 })
  table.add({ messageId: ID, token: 2, until: 8 })
  expect([...table.shared.tokens, ...table.shared.held]).toEqual([1, 1])
  table.remove({ messageId: ID, token: 2 })
  table.remove({ messageId: ID, token: 1 })
  expect([...table.shared.held]).toEqual([0])
  table.add({ messageId: ID, token: 2, until: 8 })
  expect([...table.shared.tokens, ...table.shared.held]).toEqual([2, 1])
})

it('a lease table holds the ids of messages as text that another thread can read', () => {
  const table = new LeaseTable(2)
  table.add({ messageId: ID, token: 1, until: 7 })
  table.add({ messageId: ID.replace('a', 'b'), token: 1, until: 7 })
  const text = String.fromCharCode(...table.shared.ids)
  expect(text).toBe(ID + ID.replace('a', 'b'))
})
