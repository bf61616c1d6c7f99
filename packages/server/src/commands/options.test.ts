import { describe, expect, it } from 'vitest'
import { instant, jsonFile } from './options.js'

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

it('JSON where a file is expected is refused with a hint', () => {
  expect(() => jsonFile('{"kind":"function"}')).toThrow('Expected the name of a JSON file')
})
