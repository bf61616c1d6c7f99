import { describe, expect, it } from 'vitest'
import { simulate, type Simulation } from './simulate.js'

/** `.ci/run` simulates a thousand. */
const SEEDS = 200
/** Long enough for a busy machine. */
const TIMEOUT_MS = 300_000

const EVERYTHING = [
  'a process crashes',
  'a process is stopped',
  'a process is frozen',
  'the store is away',
  'the clock jumps',
  'a call is slow',
  'the answer of a receiver is lost',
  'an agent does not call back',
  'a callback was not accepted',
  'a run is aborted',
  'messages.recordRun fails',
  'messages.accept fails',
  'deliveries.recordAttempts fails',
  'events.publish fails',
  'published',
  'replayed',
  'refused as another event',
  'a batch',
  'erased',
  'a delivery is cancelled',
  'a delivery is skipped',
  'responded',
  'failed',
  'cancelled',
  'retried',
  'delivered',
  'exhausted',
  'redelivered',
  'sent again by a replay',
  'run.refused',
  'delivery.refused',
  'webhook.circuit',
  'webhook.disabled',
  'agent.changed',
  'store.unavailable',
]

/** Adds the faults, facts and final states of a simulation. */
function addKinds(met: Set<string>, { lines, history }: Simulation): void {
  for (const { kind } of history.faults) met.add(kind)
  for (const { state, retries = 0 } of history.final.messages)
    met.add(state).add(retries > 0 ? 'retried' : 'not retried')
  for (const { status, redeliveredAt = [], isReplayed } of history.final.deliveries)
    met
      .add(status)
      .add(redeliveredAt.length > 0 ? 'redelivered' : '')
      .add(isReplayed ? 'sent again by a replay' : '')
  for (const { events, answer } of history.published ?? [])
    met
      .add(events.length > 1 ? 'a batch' : 'one event')
      .add(answer?.replayed ? 'replayed' : 'published')
      .add(answer?.status === 422 ? 'refused as another event' : '')
  if (history.erasures?.some(({ isDone }) => isDone)) met.add('erased')
  for (const line of lines)
    for (const fact of /reports ([a-z.]+)/.exec(line)?.slice(1) ?? []) met.add(fact)
}

describe('the simulated service', () => {
  it(
    'keeps its promises in all seeds, which meet each fault and final state',
    async () => {
      const met = new Set<string>()
      for (let seed = 1; seed <= SEEDS; seed++) {
        const simulation = await simulate(seed)
        expect(
          simulation.breaches,
          `To see the steps: npm run simulate -- --seed ${seed} --verbose`,
        ).toEqual({ inside: [], outside: [] })
        addKinds(met, simulation)
      }
      expect(EVERYTHING.filter((kind) => !met.has(kind))).toEqual([])
      expect(met).not.toContain('worker.failed')
    },
    TIMEOUT_MS,
  )

  it.for([1, 2, 3])('repeats its steps for the same seed (%i)', async (seed) => {
    const one = await simulate(seed)
    const same = await simulate(seed)
    const other = await simulate(seed + 1)
    expect(same.lines).toEqual(one.lines)
    expect([same.hash, other.hash === one.hash]).toEqual([one.hash, false])
  })
})
