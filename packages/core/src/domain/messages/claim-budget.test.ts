import { expect, it } from 'vitest'
import { ClaimBudget } from './claim-budget.js'

const rooms = new Map([['narrow', 1]])
const NO_LIMITS = { limit: 99, retries: 99, perWebhook: 99, perProject: 99, rooms }
const webhook = { id: 'w', projectId: 'p', isHalfOpen: false }
const due = (...times: readonly number[]) => times.map((dueAt) => ({ dueAt }))
const times = (deliveries: readonly { dueAt: number }[]) => deliveries.map(({ dueAt }) => dueAt)

it.each([
  ['takes the longest due first', {}, webhook, [1, 2, 3, 4], 2],
  ['takes at most limit', { limit: 3 }, webhook, [1, 2, 3], 1],
  ['takes at most perWebhook', { perWebhook: 2 }, webhook, [1, 2], 1],
  ['takes at most perProject', { perProject: 1 }, webhook, [1], 0],
  [
    'takes at most retries of the deliveries that were attempted',
    { retries: 1 },
    webhook,
    [1, 2, 3],
    1,
  ],
  ['takes no retries', { retries: 0 }, webhook, [1, 3], 0],
  ['takes nothing', { limit: 0 }, webhook, [], 0],
  ['takes at most the room of the webhook', {}, { ...webhook, id: 'narrow' }, [1], 0],
  ['takes one retry of a half-open webhook', {}, { ...webhook, isHalfOpen: true }, [2], 1],
  [
    'takes one first attempt of a half-open webhook without retries',
    { retries: 0 },
    { ...webhook, isHalfOpen: true },
    [1],
    0,
  ],
] as const)('a claim %s (%j)', (_, limits, of, taken, retries) => {
  const share = new ClaimBudget({ ...NO_LIMITS, ...limits }).take(of, due(1, 3), due(2, 4))
  expect(times(share.deliveries)).toEqual(taken)
  expect(share.retries).toBe(retries)
})

it('a claim names the webhooks that got as many deliveries as they have room for', () => {
  const budget = new ClaimBudget({
    ...NO_LIMITS,
    rooms: new Map(Object.entries({ a: 2, b: 2, c: 1 })),
  })
  for (const id of ['a', 'b', 'none'])
    budget.take({ ...webhook, id }, due(1), id === 'a' ? due(2) : [])
  budget.take({ ...webhook, id: 'c', isHalfOpen: true }, due(1), [])
  expect(budget.filled).toEqual(['a'])
})

it('a claim names the projects that got as many deliveries as one project can', () => {
  const budget = new ClaimBudget({ ...NO_LIMITS, perProject: 1 })
  budget.take(webhook, due(1), [])
  budget.take({ ...webhook, id: 'other', projectId: 'q' }, [], [])
  expect(budget.spentProjects).toEqual(['p'])
})

it('a claim shares its limits between webhooks and projects', () => {
  const budget = new ClaimBudget({ limit: 5, retries: 3, perWebhook: 2, perProject: 3, rooms })
  const other = { ...webhook, projectId: 'q' }
  expect(budget.take(webhook, [], due(1, 2, 3)).deliveries).toHaveLength(2)
  expect(budget.take(webhook, [], due(1, 2, 3)).deliveries).toHaveLength(1)
  expect(budget.roomFor(webhook)).toBe(0)
  expect(budget.take(other, due(1), due(2)).deliveries).toEqual(due(1))
  expect(budget.take(other, due(1), []).deliveries).toHaveLength(1)
  expect(budget.left).toBe(0)
  expect(budget.roomFor(other)).toBe(0)
})
