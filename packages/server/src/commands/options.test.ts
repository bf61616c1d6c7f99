import { describe, expect, it } from 'vitest'
import { instant, jsonFile, since } from './options.js'

describe('a time on the command line', () => {
  it.each([
    ['2030-01-31', '2030-01-31T00:00:00.000Z'],
    ['2030-01-31T12:00:00Z', '2030-01-31T12:00:00.000Z'],
    ['2030-01-31T12:00:00.5+01:00', '2030-01-31T11:00:00.500Z'],
  ])('can be %s', (text, iso) => {
    expect(instant(text)).toBe(iso)
  })

  it.each(['1.2.2030', '1/2/2030', '7', '2030-02-30', '2030-01-31T12:00:00', 'tomorrow', ''])(
    'cannot be %j',
    (text) => {
      expect(() => instant(text)).toThrow('Expected a time such as')
    },
  )
})

it.each([
  ['10:00', 0, 10],
  ['9:30', 0, 9.5],
  ['12:00', 0, 12],
  ['23:15', 1, 23.25],
])('the time of the day %s is the last one', (text, daysAgo, hours) => {
  const now = new Date(2030, 0, 31, 12, 0)
  const midnight = new Date(2030, 0, 31 - daysAgo)
  expect(since(text, now)).toBe(new Date(midnight.getTime() + hours * 3_600_000).toISOString())
  expect(() => since('25:00', now)).toThrow('Expected a time such as')
  expect(since('2030-01-30', now)).toBe('2030-01-30T00:00:00.000Z')
})

it('JSON where a file is expected is refused with a hint', () => {
  expect(() => jsonFile('{"kind":"function"}')).toThrow('Expected the name of a JSON file')
})
