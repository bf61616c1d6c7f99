import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { appliedOf, readPrefer } from './prefer.js'

describe('readPrefer (RFC 7240)', () => {
  it.each([
    [undefined, { respondAsync: false }],
    ['', { respondAsync: false }],
    ['wait=10', { respondAsync: false, waitSeconds: 10 }],
    ['wait=0', { respondAsync: false, waitSeconds: 0 }],
    ['WAIT=10', { respondAsync: false, waitSeconds: 10 }],
    ['wait="10"', { respondAsync: false, waitSeconds: 10 }],
    ['wait = 10', { respondAsync: false, waitSeconds: 10 }],
    ['  wait=10  ;x=y', { respondAsync: false, waitSeconds: 10 }],
    ['respond-async', { respondAsync: true }],
    ['Respond-Async; x', { respondAsync: true }],
    ['respond-async=""', { respondAsync: true }],
    ['respond-async, wait=10', { respondAsync: true, waitSeconds: 10 }],
    ['return=minimal, foo; bar="a, b", wait=7', { respondAsync: false, waitSeconds: 7 }],
    ['wait=5, wait=9', { respondAsync: false, waitSeconds: 5 }],
    ['foo="x, wait=5, y"', { respondAsync: false }],
    ['foo="x\\", wait=5, y"', { respondAsync: false }],
    ['foo="x, wait=5', { respondAsync: false }],
    ['wait=abc, wait=9', { respondAsync: false }],
    ['wait', { respondAsync: false }],
    ['wait=', { respondAsync: false }],
    ['wait=-1', { respondAsync: false }],
    ['wait=1.5', { respondAsync: false }],
    ['wait=1e3', { respondAsync: false }],
    ['wait=0x10', { respondAsync: false }],
    ['respond-async=yes', { respondAsync: false }],
    ['respond-asynchronously', { respondAsync: false }],
    [',,;;==', { respondAsync: false }],
  ])('%j is %j', (header, preferences) => {
    expect(readPrefer(header)).toEqual(preferences)
  })

  it('applies `respond-async` only to an answer without a response', () => {
    const applied = (isAsync: boolean) =>
      appliedOf({ respondAsync: true }, { maxWaitMs: 5_000, isAsync })
    expect([applied(true), applied(false)]).toEqual([
      { 'Preference-Applied': 'respond-async' },
      undefined,
    ])
  })

  it('applies a wait up to and including the longest', () => {
    const applied = (waitSeconds: number) =>
      appliedOf({ waitSeconds, respondAsync: false }, { maxWaitMs: 5_000, isAsync: false })
    expect([applied(5), applied(6)]).toEqual([{ 'Preference-Applied': 'wait=5' }, undefined])
  })

  it('accepts any header of any length', () => {
    const anything = fc.oneof(
      fc.string(),
      fc.constantFrom('"', '\\"', ',', '"\\"', '=', ';').map((unit) => unit.repeat(8_000)),
    )
    fc.assert(
      fc.property(
        anything,
        (header) =>
          readPrefer(header).waitSeconds === undefined || header.toLowerCase().includes('wait'),
      ),
    )
    expect(readPrefer(`${'"'.repeat(16_000)}, wait=5`)).toEqual({
      respondAsync: false,
      waitSeconds: 5,
    })
  })
})
