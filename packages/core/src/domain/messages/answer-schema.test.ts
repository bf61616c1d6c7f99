import { describe, expect, it, vi } from 'vitest'
import { ANSWER_LIMITS, checkValue, schemaProblem, sizeProblem } from './answer-schema.js'
import type { Json, JsonObject } from '../values/json.js'

const problemOf = (schema: JsonObject, value: Json): string | undefined =>
  checkValue(schema, value, ANSWER_LIMITS).problem
const stepsOf = (schema: JsonObject, value: Json): number =>
  checkValue(schema, value, ANSWER_LIMITS).steps
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index)
const times = (count: number, schema: Json): Json[] => Array<Json>(count).fill(schema)

describe('a schema', () => {
  it.each<[JsonObject, Json[], Json[]]>([
    [{ type: 'integer' }, [1, 2.0], [1.5, '1', null]],
    [{ type: ['null', 'array'] }, [null, []], [{}, false]],
    [{ const: { a: [1, null], b: 2 } }, [{ b: 2, a: [1, null] }], [{ a: [1], b: 2 }, 1]],
    [{ enum: ['a', [0], { x: 1 }] }, ['a', [0], { x: 1 }], ['b', [], { x: 2 }]],
    [{ minimum: 1, maximum: 3 }, [1, 3, 'text'], [0, 4]],
    [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [2], [1, 3]],
    [{ multipleOf: 0.1 }, [0.3, 1, 0, -2.2], [0.35]],
    [{ multipleOf: 0.123456789 }, [0.123456789], [1e308]],
    [{ minLength: 2, maxLength: 2 }, ['ab', '😀😀', 5], ['a', 'abc', '😀']],
    [{ minItems: 1, maxItems: 2 }, [[1], 'a'], [[], [1, 2, 3]]],
    [{ minProperties: 1, maxProperties: 1 }, [{ a: 1 }, []], [{}, { a: 1, b: 2 }]],
    [
      { uniqueItems: true },
      [[1, '1', [1]], []],
      [
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
    ],
    [{ format: 'date' }, ['2024-02-29', 5], ['2023-02-29']],
    [{ format: 'regex' }, ['(', ''], []],
    [{ required: ['a', 'b'] }, [{ a: 1, b: 1 }, []], [{ a: 1 }, {}]],
    [{ dependentRequired: { a: ['b'] } }, [{ a: 1, b: 1 }, { c: 1 }], [{ a: 1 }]],
    [{ properties: { a: { type: 'null' }, b: false } }, [{ a: null }, {}, 1], [{ a: 1 }, { b: 1 }]],
    [{ properties: { a: true }, additionalProperties: false }, [{ a: 1 }], [{ b: 1 }]],
    [{ propertyNames: { maxLength: 1 } }, [{ a: 1 }], [{ ab: 1 }]],
    [{ dependentSchemas: { a: { required: ['b'] } } }, [{ a: 1, b: 1 }, {}], [{ a: 1 }]],
    [
      { prefixItems: [{ type: 'null' }], items: { type: 'number' } },
      [[null, 1], []],
      [[1], [null, 'a']],
    ],
    [{ contains: { const: 1 } }, [[0, 1]], [[], [0]]],
    [{ contains: { const: 1 }, minContains: 0, maxContains: 1 }, [[], [1, 2]], [[1, 1]]],
    [{ not: { type: 'null' } }, [1], [null]],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
    [{ anyOf: [{ maximum: 1 }, { minimum: 3 }] }, [1, 3], [2]],
    [{ oneOf: [{ maximum: 2 }, { minimum: 2 }] }, [1, 3], [2]],
    [
      JSON.parse('{"if":{"minimum":1},"then":{"maximum":2},"else":{"const":0}}') as JsonObject,
      [0, 2],
      [3, -1],
    ],
    [
      { anyOf: [{ properties: { a: true }, required: ['a'] }, true], unevaluatedProperties: false },
      [{ a: 1 }, {}],
      [{ b: 1 }, { a: 1, b: 1 }],
    ],
    [{ allOf: [{ properties: { a: true } }, { unevaluatedProperties: false }] }, [{}], [{ a: 1 }]],
    [
      { prefixItems: [true], contains: { const: 9 }, unevaluatedItems: false },
      [[1, 9]],
      [[1, 9, 2]],
    ],
    [
      { properties: { format: { type: 'string' } }, $comment: 'named' },
      [{ format: 'url' }],
      [{ format: 1 }],
    ],
  ])('%j takes %j and refuses %j', (schema, right, wrong) => {
    expect(schemaProblem(schema, ANSWER_LIMITS)).toBeUndefined()
    expect(right.map((value) => problemOf(schema, value))).toEqual(right.map(() => undefined))
    expect(wrong.filter((value) => problemOf(schema, value) === undefined)).toEqual([])
  })

  it('names the place of a wrong value', () => {
    const schema = { properties: { 'a/b': { items: { properties: { '~': { minimum: 1 } } } } } }
    expect(problemOf(schema, { 'a/b': [{}, { '~': 0 }] })).toBe(
      'does not match the schema at /a~1b/1/~0: 0 is less than 1.',
    )
  })

  it.each<JsonObject>([
    { type: 'text' },
    { enum: 1 },
    { required: [1] },
    { dependentRequired: { a: 'b' } },
    { minLength: -1 },
    { multipleOf: 0 },
    { allOf: {} },
    { items: [{}] },
    { properties: { a: 1 } },
    { properties: [] },
    { uniqueItems: 'yes' },
  ])('%j is not valid', (schema) => {
    expect(schemaProblem(schema, ANSWER_LIMITS)).toBe('has a schema that is not valid')
  })
})

describe('the work of a check', () => {
  it('is limited by the nodes of the schema', () => {
    const schema = { allOf: times(499, {}) }
    expect(schemaProblem(schema, ANSWER_LIMITS)).toBeUndefined()
    expect(schemaProblem({ allOf: times(500, true) }, ANSWER_LIMITS)).toBe(
      'has a schema with more than 500 schema nodes',
    )
    expect(schemaProblem(schema, { ...ANSWER_LIMITS, schemaNodes: 499 })).toBe(
      'has a schema with more than 499 schema nodes',
    )
  })

  it('counts schemas, and not names or values', () => {
    const names = numbers(497).map((number) => `k${number}`)
    const properties = Object.fromEntries(names.map((name) => [name, {}]))
    const schema = { properties, required: names.slice(9, 99), not: { enum: numbers(200) } }
    expect(schemaProblem(schema, { ...ANSWER_LIMITS, schemaNodes: 500 })).toBeUndefined()
  })

  it('is limited by the values of the answer', () => {
    expect(sizeProblem(numbers(999), ANSWER_LIMITS)).toBeUndefined()
    expect(sizeProblem(numbers(1_000), ANSWER_LIMITS)).toBe('must have at most 1000 values')
    expect(sizeProblem({ a: [1], b: {} }, { ...ANSWER_LIMITS, values: 3 })).toBeDefined()
  })

  it('is at most a constant times nodes times values', () => {
    expect(stepsOf({ items: { allOf: times(498, {}) } }, numbers(999))).toBeLessThan(
      2 * 500 * 1_000,
    )
  })

  it('does not grow with the pairs of the items', () => {
    const unique = { allOf: times(380, { uniqueItems: true }) }
    expect(stepsOf(unique, numbers(999))).toBe(stepsOf(unique, numbers(2)))
    const listed = { items: { enum: numbers(999) } }
    expect(stepsOf(listed, numbers(999))).toBe(stepsOf({ items: { const: 1 } }, [1]) + 998 * 3)
  })

  it('looks for at most one missing name', () => {
    const names = numbers(800).map((number) => `k${number}`)
    expect(stepsOf({ items: { required: names } }, times(900, {}))).toBeLessThan(5 * 900)
  })

  it('writes a text only for the failure that it reports', () => {
    const stringify = vi.spyOn(JSON, 'stringify')
    const schema = { items: { anyOf: [...times(400, { enum: ['other'] }), { maximum: 1 }] } }
    expect(problemOf(schema, numbers(2))).toBeUndefined()
    expect(stringify.mock.calls.filter(([value]) => Array.isArray(value))).toEqual([])
    stringify.mockRestore()
  })

  it('ends at its limit of steps', () => {
    const value = Object.fromEntries(numbers(999).map((number) => [`k${number}`, 1]))
    const schema = {
      anyOf: times(245, { additionalProperties: true }),
      unevaluatedProperties: true,
    }
    expect(checkValue(schema, value, ANSWER_LIMITS)).toEqual({
      problem: 'needs more than 1000000 steps to be checked',
      steps: expect.closeTo(1_000_000, -2) as number,
    })
    const few = { ...ANSWER_LIMITS, steps: 3 }
    expect(checkValue({ items: {} }, [1, 2], few).problem).toBe(
      'needs more than 3 steps to be checked',
    )
  })

  it('ends with each other error', () => {
    const value = {
      get a(): Json {
        throw new Error('broken')
      },
    }
    expect(() => checkValue({ properties: { a: {} } }, value, ANSWER_LIMITS)).toThrow('broken')
  })

  it('is refused for a stored schema that is over the limit', () => {
    expect(problemOf({ allOf: times(2_600, {}) }, 1)).toBe(
      'cannot be checked, because the question has a schema with more than 500 schema nodes',
    )
  })
})
