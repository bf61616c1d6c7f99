import { expect, it } from 'vitest'
import { table } from './output.js'

it('shows what others wrote without what a terminal would obey', () => {
  const clipboard = '\u001B]52;c;cm0gLXJm\u0007'
  expect(table([{ id: '1', why: `500 ${clipboard}\u009B2J\r\nno` }], '')).toBe('ID  WHY\n1   500  ]52;c;cm0gLXJm  2J  no')
})
