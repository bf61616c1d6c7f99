import { expect, it } from 'vitest'
import { tokensOf } from './json-view.js'

it('names keys, texts, numbers and words, and loses no character', () => {
  const json = JSON.stringify({ 'a "b": 1': ['x: 1', -1.5e3, true, null] }, null, 2)
  const tokens = tokensOf(json)
  expect(tokens.map(({ text }) => text).join('')).toBe(json)
  expect(tokens.filter(({ kind }) => kind).map(({ kind, text }) => [kind, text])).toEqual([
    ['key', String.raw`"a \"b\": 1"`],
    ['text', '"x: 1"'],
    ['number', '-1500'],
    ['word', 'true'],
    ['word', 'null'],
  ])
})
