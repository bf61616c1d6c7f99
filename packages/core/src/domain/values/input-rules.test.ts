import { expect, it } from 'vitest'
import { idEndIn } from './input-rules.js'

it.each([
  ['365e0e54', '365e0e54'],
  ['…365E0E54', '365e0e54'],
  ['01980000-0000-7000-8000-0001365e0e54', '01980000-0000-7000-8000-0001365e0e54'],
  ['65e0e54', undefined],
  ['……365e0e54', undefined],
  ['%365e0e54', undefined],
  ['order 365e0e54', undefined],
])('the end of an id in %j is %j', (text, end) => {
  expect(idEndIn(text)).toBe(end)
})
