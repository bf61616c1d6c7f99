import { describe, expect, it } from 'vitest'
import { newRulesOf, rulesOf, valueRule, type Setting } from './setting.js'

const rate = { type: 'number', minimum: 0.01, maximum: 10 } as const
const count = { type: 'integer', minimum: 1, maximum: 5 } as const
const text = { type: 'string', maxLength: 3 } as const
const color = { type: 'string', enum: ['red', 'blue'] } as const
const colors = { type: 'array', items: color, minItems: 1 } as const
const id = { type: 'string', format: 'uuid' } as const
const instant = { type: 'number', format: 'date-time' } as const
const delays = { type: 'array', items: count, maxItems: 2 } as const

const DELAYS = 'must be an array of at most 2 whole numbers of milliseconds from 1 to 5'
const RATE = 'must be a number from 0.01 to 10'
const COLORS = 'must name one or more of: red, blue'

describe('the rule of a setting', () => {
  it.each<[Setting, readonly unknown[]]>([
    [{ type: 'boolean' }, [true, false]],
    [count, [1, 5]],
    [{ type: 'integer' }, [0, 1_000_000]],
    [rate, [0.01, 10]],
    [text, ['abc']],
    [{ type: 'string' }, ['x'.repeat(10_000)]],
    [color, ['red']],
    [colors, [['red'], ['red', 'blue']]],
    [delays, [[], [1, 5]]],
    [{ type: 'object' }, [{}, { a: 1 }]],
    [id, ['0198b2c4-5555-7a1b-8c2d-3e4f5a6b7c8d']],
    [instant, [-1, 0, 1_000]],
  ])('of %j accepts %j', (setting, values) => {
    for (const value of values) expect(valueRule(setting, value)).toBeUndefined()
  })

  it.each<[Setting, unknown, string]>([
    [text, undefined, 'is required'],
    [{ type: 'boolean' }, 'yes', 'must be true or false'],
    [count, 6, 'must be a whole number from 1 to 5'],
    [{ type: 'array', items: id, minItems: 1, maxItems: 2 }, [], 'must be a list of 1 to 2 UUIDs'],
    [rate, 0, RATE],
    [rate, 10.1, RATE],
    [rate, '1', RATE],
    [text, 7, 'must be a non-empty string'],
    [text, 'abcd', 'must have at most 3 characters'],
    [color, 'green', 'must be one of: red, blue'],
    [colors, [], COLORS],
    [colors, ['green'], COLORS],
    [colors, 'red', COLORS],
    [delays, [1, 2, 3], DELAYS],
    [delays, [0], DELAYS],
    [{ type: 'object' }, [], 'must be an object'],
    [id, 'first', 'must be a UUID'],
    [id, 7, 'must be a UUID'],
    [instant, '2030-01-31', 'must be milliseconds since 1970'],
  ])('of %j refuses %j: %s', (setting, value, problem) => {
    expect(valueRule(setting, value)).toBe(problem)
  })
})

it('checks the settings that are given, and lets null clear a setting that can be cleared', () => {
  const settings = { text: { ...text, clearable: true }, count, rate } as const
  const given = { text: null, count: null, rate: undefined, other: 1 }
  expect(rulesOf(settings, given)).toEqual({ count: 'must be a whole number from 1 to 5' })
})

it('asks a new object for each required setting, and names the object that contains it', () => {
  const settings = { text: { ...text, required: true }, count } as const
  expect(newRulesOf(settings, { count: 6 }, 'limits.')).toEqual({
    'limits.text': 'is required',
    'limits.count': 'must be a whole number from 1 to 5',
  })
  expect(newRulesOf(settings, { text: 'abc', count: 1 })).toEqual({})
})
