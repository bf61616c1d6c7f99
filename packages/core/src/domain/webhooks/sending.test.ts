import { expect, it } from 'vitest'
import { changeSending, leaseEnd } from './sending.js'

it.each([
  ['sets a field', undefined, { timeoutMs: 5 }, { timeoutMs: 5 }],
  [
    'keeps other fields',
    { maxConcurrency: 2 },
    { timeoutMs: 5 },
    { maxConcurrency: 2, timeoutMs: 5 },
  ],
  [
    'clears a field',
    { maxConcurrency: 2, timeoutMs: 5 },
    { timeoutMs: null },
    { maxConcurrency: 2 },
  ],
  ['is absent without fields', { timeoutMs: 5 }, { timeoutMs: null }, undefined],
])('a change of the sending settings %s', (_, before, change, expected) => {
  expect(changeSending(before, change)).toEqual(expected)
})

it.each([
  ['the same as asked without a timeout of the webhook', {}, 1_000],
  ['later with a longer timeout', { sending: { timeoutMs: 500 } }, 1_400],
  ['earlier with a shorter timeout', { sending: { timeoutMs: 40 } }, 940],
])('the end of a lease is %s', (_, webhook, expected) => {
  expect(leaseEnd({ until: 1_000, timeoutMs: 100 }, webhook)).toBe(expected)
})

it('a lease without a timeout ends as asked', () => {
  expect(leaseEnd({ until: 1_000 }, { sending: { timeoutMs: 500 } })).toBe(1_000)
})
