import { readFileSync } from 'node:fs'
import { WAITING } from '@org/agent-messaging-core/storage'
import { expect, it } from 'vitest'
import { generated, moduleText } from '../../../../scripts/sql-functions.mjs'
import { functions } from './functions.generated.js'

const texts: readonly [name: string, text: string][] = Object.entries(functions)

it('functions.generated.ts has the functions of the .sql files (npm run sql)', () => {
  expect(readFileSync(generated, 'utf8')).toBe(moduleText())
})

it.each(texts)('%s is the function of its file', (name, text) => {
  const created = [...text.matchAll(/create or replace function agent_messaging\.(\w+)/g)]
  expect(created.map(([, found]) => found)).toEqual([name])
})

it('a delivery that waits in its order is due at WAITING of core', () => {
  const due = texts.flatMap(([name, text]) =>
    [...text.matchAll(/\d{14,}/g)].map(([at]) => [name, Number(at)]),
  )
  expect(due).toContainEqual(['settle_runs', WAITING])
  expect(due.filter(([, at]) => at !== WAITING)).toEqual([])
})

/** What a hot function forbids the planner. `accept_messages` joins a batch with itself by hash. */
const FORBIDDEN = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin', 'memoize']
const COLD = [
  'end_hooks',
  'lock_orders',
  'remove_past_runs',
  'require_read_committed',
  'webhook_version',
]

it.each(texts.filter(([name]) => !COLD.includes(name)))('%s has one plan', (name, text) => {
  const allowed = FORBIDDEN.filter((plan) => !text.includes(`set enable_${plan} = off`))
  expect(allowed).toEqual(name === 'accept_messages' ? ['hashjoin'] : [])
  expect(text).toContain('set jit = off\n  set plan_cache_mode = force_generic_plan')
})
