import { describe, expect, it } from 'vitest'
import { mutations } from './mutations.js'
import { simulate } from './simulate.js'

/** Each mutation needs far fewer. See docs/reliability.md. */
const SEEDS_FOR_A_MUTATION = 200
/** Long enough for a busy machine. */
const TIMEOUT_MS = 300_000

describe('the simulation notices that', () => {
  it.for(Object.keys(mutations))('%s', { timeout: TIMEOUT_MS }, async (name) => {
    expect(await firstNotice(name)).toBeLessThanOrEqual(SEEDS_FOR_A_MUTATION)
  })
})

/** Returns the first seed that notices the mutation. */
async function firstNotice(name: string): Promise<number> {
  for (let seed = 1; seed <= SEEDS_FOR_A_MUTATION; seed++) {
    const { breaches } = await simulate(seed, mutations[name])
    if (breaches.inside.length + breaches.outside.length > 0) return seed
  }
  return Infinity
}
