import { expect, it } from 'vitest'
import { newDeliveryClaim, newMessageClaim, newTestClaim } from './first-claim.js'
import { untried } from '../webhooks/webhook-health.js'

it.each([
  { claimUntil: 9, isHead: true, until: 9 },
  { claimUntil: 9, isHead: false, until: undefined },
  { claimUntil: undefined, isHead: true, until: undefined },
  { claimUntil: undefined, isHead: false, until: undefined },
])(
  'a new message with claimUntil $claimUntil and isHead $isHead is claimed until $until',
  ({ claimUntil, isHead, until }) => {
    expect(newMessageClaim(claimUntil, isHead)).toBe(until)
  },
)

const webhook = {
  id: 'w',
  projectId: 'p',
  url: 'https://example.com',
  isPaused: false,
  status: { kind: 'enabled' },
  health: untried,
} as const
const disabled = { kind: 'disabled', reason: 'operator', at: 1 } as const
const open = { ...untried, circuit: { kind: 'open', until: 1, trips: 1 } } as const

it.each([
  ['of an enabled webhook is claimed', {}, [], { until: 9 }],
  ['of a disabled webhook is not claimed', { status: disabled }, ['w'], {}],
  ['of a paused webhook is not claimed', { isPaused: true }, [], {}],
  ['of a webhook with an open circuit is not claimed', { health: open }, [], {}],
  ['of an excepted webhook is skipped', {}, ['w'], { skipped: 'w' }],
  ['of an excepted project is skipped', {}, ['p'], { skipped: 'p' }],
  ['is claimed if other webhooks are excepted', {}, ['v'], { until: 9 }],
] as const)('a new delivery %s', (_, change, except, expected) => {
  const claim = { until: 9, except: new Set<string>(except) }
  expect(newDeliveryClaim({ ...webhook, ...change }, claim)).toEqual(expected)
})

it.each([
  ['of a webhook with an open circuit is claimed', { health: open }, { until: 9 }],
  ['of a paused webhook is not claimed', { isPaused: true, health: open }, {}],
  ['of a disabled webhook is not claimed', { status: disabled }, {}],
] as const)('a test event %s', (_, change, expected) => {
  const claim = { until: 9, except: new Set<string>() }
  expect(newTestClaim({ ...webhook, ...change }, claim)).toEqual(expected)
})

it('a new delivery is not claimed if the caller claims no deliveries', () => {
  expect(newDeliveryClaim(webhook, undefined)).toEqual({})
})
