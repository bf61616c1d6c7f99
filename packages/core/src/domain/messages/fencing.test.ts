import { expect, it } from 'vitest'
import { attemptCounts, holdsRun } from './fencing.js'

const STATES = ['queued', 'running', 'deferred', 'responded', 'failed', 'cancelled'] as const

it.each(STATES)(
  'the newest token of a %s head holds the run only while it is under way',
  (state) => {
    const run = { state, lease: 2, isHead: true }
    expect(holdsRun(run, 2)).toBe(state === 'running' || state === 'deferred')
    expect(holdsRun(run, 1)).toBe(false)
    expect(holdsRun({ ...run, isHead: false }, 2)).toBe(false)
  },
)

it.each([
  { isOpen: true, isClaimed: true, token: 2, failed: true, accepted: true },
  { isOpen: true, isClaimed: true, token: 1, failed: false, accepted: true },
  { isOpen: true, isClaimed: false, token: 2, failed: false, accepted: true },
  { isOpen: false, isClaimed: false, token: 2, failed: false, accepted: false },
  { isOpen: false, isClaimed: true, token: 2, failed: false, accepted: false },
])(
  'isOpen $isOpen, isClaimed $isClaimed and token $token of 2: a failed attempt counts $failed, an accepted one $accepted',
  ({ token, failed, accepted, ...delivery }) => {
    const row = { ...delivery, lease: 2 }
    expect(attemptCounts(row, token, 'refused')).toBe(failed)
    expect(attemptCounts(row, token, 'unreachable')).toBe(failed)
    expect(attemptCounts(row, token, 'accepted')).toBe(accepted)
  },
)
