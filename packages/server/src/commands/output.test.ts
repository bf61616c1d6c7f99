import { expect, it } from 'vitest'
import { forStdout, loggedProgress, table } from './output.js'

const answer = 'one\n\ttwo \u001B[2J\u009B2J\u007F'

it('output to a terminal has no control characters, and output to a program is unchanged', () => {
  expect(forStdout(answer, { isTTY: true })).toBe('one\n\ttwo  [2J 2J ')
  expect(forStdout(answer, { isTTY: false })).toBe(answer)
})

it('a table has no control characters', () => {
  const clipboard = '\u001B]52;c;cm0gLXJm\u0007'
  expect(table([{ id: '1', why: `500 ${clipboard}\u009B2J\r\nno` }], '')).toBe(
    'ID  WHY\n1   500  ]52;c;cm0gLXJm  2J  no',
  )
})

it('progress in a log is a line every five seconds', () => {
  let now = 0
  let log = ''
  const to = { isTTY: false, write: (text: string | Uint8Array) => (log += String(text)) !== '' }
  const { show, end } = loggedProgress(to, () => now)
  for (const at of [0, 4_999, 5_000, 9_999, 10_000]) {
    now = at
    show(`at ${at}`)
  }
  end()
  expect(log).toBe('at 5000\nat 10000\n')
})
