import { describe, expect, it } from 'vitest'
import { mutations } from './mutations.js'
import { simulate } from './simulate.js'

const SEEDS = 1_000
const SEEDS_A_TEST = 100
/** Each mutation is noticed in far fewer; docs/reliability.md has the figures. */
const SEEDS_FOR_A_MUTATION = 200
/** For a machine that does a lot besides. */
const TIMEOUT_MS = 300_000

const EVERYTHING = [
  'a process crashes',
  'a process is stopped',
  'a process is frozen',
  'the store is away',
  'the clock jumps',
  'something is slow',
  'the answer of a receiver is lost',
  'an agent does not call back',
  'a callback was not taken',
  'a run is told to end',
  'messages.recordRun fails',
  'messages.accept fails',
  'deliveries.recordAttempt fails',
  'a delivery is cancelled',
  'responded',
  'failed',
  'cancelled',
  'put back',
  'delivered',
  'exhausted',
  'sent again',
  'run.refused',
  'delivery.refused',
  'webhook.circuit',
  'webhook.disabled',
  'agent.changed',
  'store.unavailable',
]

const firsts = Array.from({ length: SEEDS / SEEDS_A_TEST }, (_, index) => 1 + index * SEEDS_A_TEST)

describe('the service in simulated worlds', () => {
  it.for(firsts)(
    'keeps its promises, a hundred seeds from %i on',
    { timeout: TIMEOUT_MS },
    async (first) => {
      for (let seed = first; seed < first + SEEDS_A_TEST; seed++) {
        const { breaches } = await simulate(seed)
        expect(
          breaches,
          `to see what happened: npm run simulate -- --seed ${seed} --verbose`,
        ).toEqual({ inside: [], outside: [] })
      }
    },
  )

  it.for([1, 2, 3])('does the same again for the same seed (%i)', async (seed) => {
    const [one, same, other] = [
      await simulate(seed),
      await simulate(seed),
      await simulate(seed + 1),
    ]
    expect(same.lines).toEqual(one.lines)
    expect([same.hash, other.hash === one.hash]).toEqual([one.hash, false])
  })

  it(
    'meets everything that it is made for, so that what it keeps means something',
    { timeout: TIMEOUT_MS },
    async () => {
      const met = new Set<string>()
      // Few deliveries come to the end of their schedule.
      for (let seed = 1; seed <= 2 * SEEDS_A_TEST; seed++) {
        const { lines, history } = await simulate(seed)
        for (const { kind } of history.faults) met.add(kind)
        for (const { state, retries = 0 } of history.final.messages)
          met.add(state).add(retries > 0 ? 'put back' : 'not put back')
        for (const { status, redeliveredAt = [] } of history.final.deliveries)
          met.add(status).add(redeliveredAt.length > 0 ? 'sent again' : '')
        for (const line of lines)
          for (const fact of /tells of ([a-z.]+)/.exec(line)?.slice(1) ?? []) met.add(fact)
      }
      expect(EVERYTHING.filter((kind) => !met.has(kind))).toEqual([])
      expect(met).not.toContain('worker.failed')
    },
  )
})

describe('a simulated world notices that', () => {
  it.for(Object.keys(mutations))('%s', { timeout: TIMEOUT_MS }, async (name) => {
    expect(await firstNotice(name)).toBeLessThanOrEqual(SEEDS_FOR_A_MUTATION)
  })
})

/** The first seed that notices it. */
async function firstNotice(name: string): Promise<number> {
  for (let seed = 1; seed <= SEEDS_FOR_A_MUTATION; seed++) {
    const { breaches } = await simulate(seed, mutations[name])
    if (breaches.inside.length + breaches.outside.length > 0) return seed
  }
  return Infinity
}
