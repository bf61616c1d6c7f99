import { expect, it } from 'vitest'
import { table, toShow } from './output.js'

const answer = 'one\n\ttwo \u001B[2J\u009B2J\u007F'

it('shows an answer on a terminal without what that would obey, and gives it to a program as it is', () => {
  expect(toShow(answer, { isTTY: true })).toBe('one\n\ttwo  [2J 2J ')
  expect(toShow(answer, { isTTY: false })).toBe(answer)
})

it('shows what others wrote without what a terminal would obey', () => {
  const clipboard = '\u001B]52;c;cm0gLXJm\u0007'
  expect(table([{ id: '1', why: `500 ${clipboard}\u009B2J\r\nno` }], '')).toBe(
    'ID  WHY\n1   500  ]52;c;cm0gLXJm  2J  no',
  )
})
