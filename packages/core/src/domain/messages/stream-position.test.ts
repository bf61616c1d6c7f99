import { expect, it } from 'vitest'
import { positionText, readPosition } from './stream-position.js'

it.each([
  ['2.120', { attempt: 2, offset: 120 }],
  ['0.0', { attempt: 0, offset: 0 }],
  ['3.failed', { attempt: 3, offset: 'failed' }],
] as const)('%s is a position, both ways', (text, position) => {
  expect(readPosition(text)).toEqual(position)
  expect(positionText(position)).toBe(text)
})

it.each(['', '2', '2.', '.2', '-1.2', '1.2.3', '1.END', ' 1.2', '1e3.2', '1.9999999999999'])(
  '%j is none',
  (text) => {
    expect(readPosition(text)).toBeUndefined()
  },
)
