import { describe, expect, it } from 'vitest'
import { indentedJson, tokensOf } from './json-view.js'

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

describe('indented JSON', () => {
  it.each([
    '{"a":[1,-2.5,{"b":null}],"c":{},"d":[],"e":"x, y: [z] \\"q\\""}',
    '[[],[[]],{"":""}]',
    '"text"',
    'true',
    ' { "a" : [ 1 ,\n 2 ] } ',
  ])('of %s looks as usual', (text) => {
    expect(indentedJson(text)).toBe(JSON.stringify(JSON.parse(text), null, 2))
  })

  it('keeps long numbers, trailing zeros and equal keys, and shows escaped letters', () => {
    expect(indentedJson(String.raw`{"id":12345678901234567890,"a":1.0,"a":"caf\u00e9"}`)).toBe(
      '{\n  "id": 12345678901234567890,\n  "a": 1.0,\n  "a": "café"\n}',
    )
  })

  it.each(['', 'plain', '{"a":', '[1,]'])('of %j does not exist', (text) => {
    expect(indentedJson(text)).toBeUndefined()
  })

  it('stays small for a long list within lists', () => {
    const wide = `${'['.repeat(60)}${'1,'.repeat(20_000)}1${']'.repeat(60)}`
    expect(indentedJson(wide)).toBe(wide)
  })

  it('stays small for a deep text', () => {
    const deep = '['.repeat(8_000) + ']'.repeat(8_000)
    expect(indentedJson(deep)).toBe(deep)
  })
})
