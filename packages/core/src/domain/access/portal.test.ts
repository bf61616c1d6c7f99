import { describe, expect, it } from 'vitest'
import { aPortalSession } from '@org/agent-messaging-testing'
import { canOpen, isOpen } from './portal.js'

describe('a portal session', () => {
  const session = aPortalSession({ linkUntil: 100, until: 1_000 })

  it.each([
    [{}, 99, true],
    [{}, 100, false],
    [{ openedAt: 50 }, 99, false],
    [{ endedAt: 50 }, 99, false],
  ])('with %j can be opened at %i: %s', (change, now, expected) => {
    expect(canOpen({ ...session, ...change }, now)).toBe(expected)
  })

  it.each([
    [{}, 99, false],
    [{ openedAt: 50 }, 999, true],
    [{ openedAt: 50 }, 1_000, false],
    [{ openedAt: 50, endedAt: 60 }, 99, false],
  ])('with %j is open at %i: %s', (change, now, expected) => {
    expect(isOpen({ ...session, ...change }, now)).toBe(expected)
  })
})
