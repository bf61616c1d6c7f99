import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonTextLimits, jsonTextProblem, parseJsonText } from './json-text.js'

const isNestedDeeper = (text: string, depth: number): boolean =>
  jsonTextProblem(text, { ...jsonTextLimits, depth }) !== undefined

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

describe('the depth of JSON text', () => {
  it('agrees with the depth of the parsed value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.boolean(), (value, isIndented) => {
        const text = JSON.stringify(value, null, isIndented ? 2 : 0)
        const depth = depthOf(JSON.parse(text))
        expect([isNestedDeeper(text, depth), isNestedDeeper(text, depth - 1)]).toEqual([
          false,
          depth > 0,
        ])
      }),
    )
  })

  it('ignores brackets in strings', () => {
    const tricky = ['[[[[', ']]]', '"[[', '\\"[[', '\\', '\\\\', '\\\\"[[', '"', '{"a":{']
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...tricky)), (texts) => {
        expect(isNestedDeeper(JSON.stringify(texts), 1)).toBe(false)
      }),
    )
  })

  it('terminates on text that is not JSON', () => {
    for (const text of ['', '"', '"\\', '"\\"', '\\', ']]]]', '"'.repeat(999)])
      expect(isNestedDeeper(text, 1)).toBe(false)
  })

  it('stops at the first level that is too deep', () => {
    expect(isNestedDeeper('['.repeat(33), 32)).toBe(true)
    expect(isNestedDeeper('['.repeat(32), 32)).toBe(false)
  })
})

function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  const inner = Object.values(value).map(valuesOf)
  return inner.length === 0 ? 2 : 1 + inner.reduce((sum, values) => sum + values, 0)
}

describe('the values of JSON text', () => {
  it('agree with the parsed value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const values = valuesOf(JSON.parse(JSON.stringify(value)))
        const problemAt = (limit: number) =>
          jsonTextProblem(JSON.stringify(value), { depth: 64, values: limit })
        expect(problemAt(values)).toBeUndefined()
        expect(problemAt(values - 1)).toBe(`must not have more than ${values - 1} values`)
      }),
    )
  })

  it('are limited before the text is parsed', () => {
    const list = (length: number): string => JSON.stringify(Array<number>(length).fill(1))
    expect(parseJsonText(list(9_999))).toHaveLength(9_999)
    expect(() => parseJsonText(list(10_000))).toThrow(
      new SyntaxError('The JSON must not have more than 10000 values'),
    )
    expect(() => parseJsonText('['.repeat(65))).toThrow('must not nest more than 64 levels deep')
    expect(() => parseJsonText('{')).toThrow(SyntaxError)
  })
})
