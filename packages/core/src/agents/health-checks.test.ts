import { expect, it } from 'vitest'
import { isCheckDue } from './health-checks.js'

const policy = { intervalMs: 30_000, recheckMs: 2_000, timeoutMs: 5_000, failuresBeforeError: 3 }

it.each([
  ['is not due before the interval', 0, 29_999, false],
  ['is due after the interval', 0, 30_000, true],
  ['is not due at once after a failure', 1, 1_999, false],
  ['is due soon after a failure', 1, 2_000, true],
  ['is due when the clock was set back', 0, -30_000, true],
])('a health check %s', (_, failedChecks, passedMs, isDue) => {
  const checkedAt = 1_000_000
  expect(isCheckDue({ checkedAt, failedChecks }, checkedAt + passedMs, policy)).toBe(isDue)
})
