import { expect, it } from 'vitest'
import { fakeIds } from '@org/agent-messaging-testing'
import { slotsOf } from './sender-shares.js'

const ids = fakeIds()
const MEMBERS = [ids.next(), ids.next(), ids.next(), ids.next()]
const WEBHOOKS = Array.from({ length: 400 }, () => ids.next())

it.each([1, 2, 3, 4, 7])('the shares of all processes add up to the limit %i', (all) => {
  for (const webhookId of WEBHOOKS) {
    const shares = MEMBERS.map((id) => slotsOf(all, webhookId, id, MEMBERS))
    expect(shares.reduce((sum, share) => sum + share, 0)).toBe(all)
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
  }
})

it.each([1, 2, 3, 5])('a process that joins makes no other share of %i larger', (all) => {
  for (const webhookId of WEBHOOKS)
    for (const joined of MEMBERS) {
      const before = MEMBERS.filter((id) => id !== joined)
      for (const id of before)
        expect(slotsOf(all, webhookId, id, MEMBERS)).toBeLessThanOrEqual(
          slotsOf(all, webhookId, id, before),
        )
    }
})

it('the only slots of many webhooks go to all processes', () => {
  const counts = MEMBERS.map(
    (id) => WEBHOOKS.filter((webhookId) => slotsOf(1, webhookId, id, MEMBERS) === 1).length,
  )
  expect(Math.min(...counts)).toBeGreaterThan(WEBHOOKS.length / MEMBERS.length / 2)
})
