import { describe, expect, it } from 'vitest'
import { check } from './checker/check.js'
import { summarize } from './checker/summary.js'
import { removeFolder, runScenario, type Scenario } from './scenario.js'

const ON_EACH_STORE = ['migration', 'kill', 'kill-at', 'sigterm', 'clock', 'cron']
const faultsOf = {
  sqlite: ON_EACH_STORE,
  postgres: [...ON_EACH_STORE, 'pg-stop', 'pg-terminate', 'link-cut', 'link-delay'],
}
const KILLS = 4
/** Twice `maxInFlight`. */
const MOST_REPEATS = 128

/** The short form of `npm run faults`, with a few kills. */
async function outcomeOf(
  scenario: Pick<Scenario, 'seed' | 'store' | 'processes' | 'faults' | 'erases'>,
) {
  const signal = AbortSignal.timeout(200_000)
  const { history, unexpectedExits, folder } = await runScenario({
    ...scenario,
    kills: KILLS,
    signal,
    clients: 4,
    pauseMs: 100,
  })
  await removeFolder(folder)
  const { faults, accepted, lost, repeats, events } = summarize(history)
  const wasKilled = Object.keys(faults).some((kind) => kind.startsWith('kill'))
  return {
    violations: check(history),
    unexpectedExits,
    lost: lost + events.lost,
    doubled: events.doubled,
    hasFewRepeats: repeats.most <= MOST_REPEATS,
    wasKilled,
    wasUsed: accepted > 0 && events.accepted > 0 && events.replays > 0,
    wasErased: events.erased > 0,
  }
}
const expected = {
  violations: [],
  unexpectedExits: [],
  lost: 0,
  doubled: 0,
  hasFewRepeats: true,
  wasKilled: true,
  wasUsed: true,
}
const timeout = 600_000

describe.each(['sqlite', 'postgres'] as const)('on %s', (store) => {
  const cases = [
    { processes: 1, seed: 1, erases: true },
    { processes: 3, seed: 2, erases: false },
  ]
  it.each(cases)(
    '$processes server processes keep all promises under kills and other faults',
    { timeout },
    async (one) => {
      expect(await outcomeOf({ ...one, store, faults: faultsOf[store] })).toEqual({
        ...expected,
        wasErased: one.erases,
      })
    },
  )
})
