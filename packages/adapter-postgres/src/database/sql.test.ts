import { expect, it } from 'vitest'
import { jsonRows } from './sql.js'

const readBack = (...values: unknown[]): unknown => JSON.parse(jsonRows([{ values }]))[0].values

it('rows are read back unchanged', () => {
  const values = ['😀', String.raw`\ud800`, '"', '\n\0', '{"a":"\\ud800"}', 1.5, true, null, [{}]]
  expect(readBack(...values)).toEqual(values)
})

it('a lone surrogate becomes U+FFFD, also in a nested list', () => {
  expect(readBack('a\ud800b', ['\udc00'])).toEqual(['a\uFFFDb', ['\uFFFD']])
})

it('an undefined column is left out, and NaN is null', () => {
  expect(jsonRows([{ a: undefined, b: Number.NaN }])).toBe('[{"b":null}]')
})
