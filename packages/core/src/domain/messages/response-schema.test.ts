import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../values/json.js'
import { responseSchemaRule, structureProblem } from './response-schema.js'

const nested = (levels: number): JsonObject => (levels === 0 ? {} : { not: nested(levels - 1) })

describe('the schema of a send', () => {
  it.each<[unknown, string | undefined]>([
    [undefined, undefined],
    [{}, undefined],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }, undefined],
    [{ allOf: Array<Json>(4_999).fill(true) }, undefined],
    [null, 'has a schema that is not an object'],
    [true, 'has a schema that is not an object'],
    [{ type: 'obj' }, 'has a schema that is not valid'],
    [{ $ref: '#' }, 'has a schema with $ref, which is not supported'],
    [
      { properties: { a: { pattern: '(a+)+$' } } },
      'has a schema with pattern, which is not supported',
    ],
    [{ allOf: Array<Json>(5_000).fill(true) }, 'has a schema with more than 5000 schema nodes'],
    [{ title: 'a'.repeat(65_536) }, 'has a schema with more than 65536 characters as JSON'],
    [nested(16), 'has a schema that is nested too deeply'],
    [nested(5_000), 'has a schema that is nested too deeply'],
    [{ title: '\ud800' }, 'has a schema that holds NUL or a lone surrogate'],
  ])('%# is checked', (schema, problem) => {
    expect(responseSchemaRule(schema)).toBe(problem)
  })
})

describe('an answer for a schema', () => {
  const total: JsonObject = {
    type: 'object',
    properties: { total: { type: 'number' } },
    required: ['total'],
    additionalProperties: false,
  }
  const NOT_JSON = 'is not JSON, and the message has a responseSchema'

  it.each([
    ['{"total":7}', undefined],
    [' {"total":7.5}\n', undefined],
    ['7', 'does not match the schema: Instance type "number" is invalid. Expected "object".'],
    ['', NOT_JSON],
    ['```json\n{"total":7}\n```', NOT_JSON],
    ['{"total":7', NOT_JSON],
    ['{"total":"\\ud800"}', 'holds NUL or a lone surrogate'],
  ])('%s', (text, problem) => {
    expect(structureProblem(total, text)).toBe(problem)
  })

  it('names the place that does not match', () => {
    expect(structureProblem(total, '{"total":"7"}')).toContain('at /total')
    expect(structureProblem(total, '{"total":7,"__proto__":{}}')).toContain('does not match')
  })

  it('is refused beyond 500,000 values for each schema node', () => {
    const list = (length: number) => JSON.stringify(Array(length).fill(0))
    const schema = { allOf: Array<Json>(4_999).fill(true) }
    expect(structureProblem(schema, list(99))).toBeUndefined()
    expect(structureProblem(schema, list(100))).toBe('must have at most 100 values')
  })

  it('is refused if it nests too deeply, or takes too many steps', () => {
    const brackets = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    expect(structureProblem({}, brackets)).toBe('is nested too deeply')
    const bomb: JsonObject = {
      items: { allOf: Array.from({ length: 40 }, () => ({ minimum: 0, type: 'number' })) },
    }
    const many = JSON.stringify(Array(11_000).fill(1))
    expect(structureProblem(bomb, many)).toContain('needs more than 1000000 steps')
  })
})
