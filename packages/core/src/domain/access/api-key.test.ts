import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isBootstrapKey, isMistyped, newApiKey } from './api-key.js'

const bytes = (fill: number) => (length: number) => new Uint8Array(length).fill(fill)

describe('an API key', () => {
  it('is amk_, 32 random base62 characters and 6 of checksum', () => {
    expect(newApiKey(bytes(61))).toMatch(/^amk_z{32}[0-9A-Za-z]{6}$/)
  })
  it('draws again for bytes that would favour some characters', () => {
    let calls = 0
    newApiKey((length) => new Uint8Array(length).fill(calls++ === 0 ? 255 : 7))
    expect(calls).toBe(2)
  })
  it('shows every mistyped character', () => {
    const key = newApiKey(bytes(17))
    expect(isMistyped(key)).toBe(false)
    fc.assert(
      fc.property(
        fc.integer({ min: 4, max: key.length - 1 }),
        fc.constantFrom(...'0aZ9'),
        (at, typed) => {
          const changed = key.slice(0, at) + typed + key.slice(at + 1)
          expect(isMistyped(changed)).toBe(changed !== key)
        },
      ),
    )
  })
  it.each(['amk_', 'amk_short', `amk_${'a'.repeat(39)}`, `amk_${'-'.repeat(38)}`])(
    'is never %s',
    (key) => expect(isMistyped(key)).toBe(true),
  )
  it('of another form is not ours to judge', () =>
    expect(isMistyped('a-bootstrap-key-of-the-operator')).toBe(false))
})

describe('a bootstrap key', () => {
  it.each(['x'.repeat(20), '!"#$%&()*+-./:;<=>?@[]~', 'x'.repeat(255)])('can be %s', (key) =>
    expect(isBootstrapKey(key)).toBe(true),
  )
  it.each([
    'x'.repeat(19),
    'x'.repeat(256),
    'with space in its middle',
    'with,comma,in,its,middle',
    'ünïcödë-ünïcödë-ünïcödë',
  ])('cannot be %s', (key) => expect(isBootstrapKey(key)).toBe(false))
})
