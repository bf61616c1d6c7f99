import { describe, expect, it } from 'vitest'
import { decideDeclared, decideFields, fieldsOfAgent } from './declared-agent.js'
import type { Json } from '../values/json.js'

describe('a field that code declares', () => {
  it.each<[why: string, stored: Json, lastSet: Json, declared: Json, decision: string]>([
    ['the code is the same', 'a', 'a', 'a', 'keep'],
    ['the code is the same, and a person changed the field', 'person', 'a', 'a', 'keep'],
    ['only the code changed', 'a', 'a', 'b', 'write'],
    ['both changed', 'person', 'a', 'b', 'warn'],
    ['both changed to the same value', { x: 1, y: 2 }, 'a', { y: 2, x: 1 }, 'keep'],
    ['the code leaves it out', 'a', 'a', null, 'write'],
  ])('%s', (_, stored, lastSet, declared, decision) => {
    expect(decideDeclared(stored, declared, (value) => value === lastSet)).toBe(decision)
  })
})

it('lists the settings and the options of the runtime, without the signing secret', () => {
  const fields = fieldsOfAgent({
    defaultExecutionPrincipal: { type: 'service' },
    concurrency: 1,
    maxAttempts: 2,
    maxQueued: 3,
    runtime: {
      kind: 'http',
      options: { url: 'u', headers: { set: true } },
      secrets: { headers: { A: 'b' }, signingSecret: 's' },
    },
  })
  expect(fields).toEqual({
    defaultExecutionPrincipal: { type: 'service' },
    concurrency: 1,
    maxAttempts: 2,
    maxQueued: 3,
    'runtime.kind': 'http',
    'runtime.url': 'u',
    'runtime.headers': { A: 'b' },
  })
})

it('decides on the options of another kind of runtime as on the kind', () => {
  const stored = { concurrency: 1, 'runtime.kind': 'a', 'runtime.x': 1 }
  const declared = { concurrency: 1, 'runtime.kind': 'b', 'runtime.y': 2 }
  expect(decideFields(stored, declared, (_, value) => value === 'a')).toEqual([
    ['concurrency', 'keep'],
    ['runtime.kind', 'write'],
    ['runtime.x', 'write'],
    ['runtime.y', 'write'],
  ])
})
