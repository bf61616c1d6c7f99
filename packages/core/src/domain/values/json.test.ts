import { describe, expect, it } from 'vitest'
import { beginningOf, canonicalJson, isStorableText, jsonProblem, type Json } from './json.js'

describe('text that can be stored', () => {
  it.each(['', 'héllo', '😀', '\n'])('%j can be stored', (text) =>
    expect(isStorableText(text)).toBe(true),
  )
  it.each(['a\0b', '\ud800', '\udc00x'])('%j cannot be stored', (text) =>
    expect(isStorableText(text)).toBe(false),
  )
})

describe('the beginning of a text', () => {
  it.each([
    ['abc', 3, 'abc'],
    ['abc', 2, 'ab'],
    ['a😀', 3, 'a😀'],
    ['a😀', 2, 'a'],
    ['', 1, ''],
  ])('%j, cut to %i, is %j', (text, maxLength, beginning) =>
    expect(beginningOf(text, maxLength)).toBe(beginning),
  )
})

describe('a value that can be stored as JSON', () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

  it('can be as deep as the limit and no deeper', () => {
    expect(jsonProblem(nested(3), 3)).toBeUndefined()
    expect(jsonProblem(nested(4), 3)).toBe('is nested too deeply')
  })
  it('stops at the limit, however deep the value is', () => {
    let deep: unknown = 1
    for (let i = 0; i < 100_000; i++) deep = [deep]
    expect(jsonProblem(deep, 16)).toBe('is nested too deeply')
  })
  it.each([
    ['NUL in a string', { a: ['x\0'] }, 'holds NUL or a lone surrogate'],
    ['a lone surrogate in a key', { 'a\ud800': 1 }, 'has a key with NUL or a lone surrogate'],
    [
      'a number that JSON.parse made Infinity',
      JSON.parse('{"a":1e400}'),
      'holds a number out of range',
    ],
    ['what JSON has not', { a: () => 1 }, 'holds a function, which JSON has not'],
  ])('has no %s', (_, value, problem) => expect(jsonProblem(value, 16)).toBe(problem))
  it('can contain everything that JSON has', () => {
    expect(jsonProblem({ a: [null, true, 1.5, 'x', {}], b: {} }, 16)).toBeUndefined()
  })
})

describe('canonical JSON', () => {
  const parse = (text: string): Json => JSON.parse(text) as Json

  it('does not depend on the order of keys and on white space', () => {
    expect(canonicalJson(parse('{"b":[1,{"d":1,"c":2}],"a":null}'))).toBe(
      canonicalJson(parse(' {"a":null, "b":[1,{"c":2,"d":1}]}')),
    )
  })
  it('keeps the order of lists, and __proto__ as the data that it is', () => {
    expect(canonicalJson([2, 1])).toBe('[2,1]')
    expect(canonicalJson(parse('{"__proto__":{"x":1}}'))).toBe('{"__proto__":{"x":1}}')
  })
})
