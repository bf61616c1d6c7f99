import { version } from 'uuid'
import { afterEach, expect, it, vi } from 'vitest'
import { uuidV7 } from './uuid-v7.js'

afterEach(() => void vi.useRealTimers())

it('makes UUIDs of version 7 that differ, however many draws of random bytes they take', () => {
  const ids = uuidV7()
  const made = Array.from({ length: 1_000 }, () => ids.next())
  expect(new Set(made).size).toBe(1_000)
  expect(new Set(made.map((id) => version(id)))).toEqual(new Set([7]))
  // The last 62 bits have nothing of the time or the count in them.
  expect(new Set(made.map((id) => id.slice(24))).size).toBe(1_000)
})

it('makes none that is smaller when the clock is set back', () => {
  vi.useFakeTimers({ now: 1_000_000 })
  const ids = uuidV7()
  const before = ids.next()
  vi.setSystemTime(999_000)
  const after = ids.next()
  expect(after > before).toBe(true)
  vi.setSystemTime(1_000_001)
  expect(ids.next() > after).toBe(true)
})
