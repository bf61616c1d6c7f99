import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isNestedDeeper } from './json-depth.js'

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

describe('isNestedDeeper', () => {
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
