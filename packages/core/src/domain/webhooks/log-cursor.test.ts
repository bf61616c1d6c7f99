import { expect, it } from 'vitest'
import { cursorOf, isAnotherEvent, markOf, placeOf } from './log-cursor.js'

const PROJECT = '0198b2c4-6f0e-7a1b-8c2d-000000000001'
const ID = '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d'

it.each([{ position: 0 }, { position: 12, mark: markOf(ID) }])(
  'a cursor gives its place back: %j',
  (place) => {
    expect(placeOf(PROJECT, cursorOf(PROJECT, place))).toEqual(place)
    expect(placeOf('another', cursorOf(PROJECT, place))).toBe('foreign')
  },
)

it.each([
  '',
  '1',
  '-1',
  '1-',
  'x',
  '1-3e4f5a6b7c8d',
  '1 2',
  '1-a/b',
  '1-a-b-c',
  `${'9'.repeat(16)}-a`,
])('a text is no cursor: %j', (text) => {
  expect(placeOf(PROJECT, text)).toBeUndefined()
})

it.each([
  [markOf(ID), ID, false],
  [markOf(ID), '0198b2c4-6f0e-7a1b-8c2d-000000000000', true],
  [markOf(ID), undefined, false],
  [undefined, ID, false],
])('the mark %s and the event %s: another event is %s', (mark, id, expected) => {
  expect(isAnotherEvent(mark, id)).toBe(expected)
})
