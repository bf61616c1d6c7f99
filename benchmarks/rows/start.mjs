import { startCli } from '../child.mjs'
import { inEnvironment } from '../environment.mjs'
import { ms, median } from './figures.mjs'

const STARTS = 5

/** Measures starts of the CLI's server on a database that exists, as after a crash. */
export const start = {
  figure: ({ took }) => `${ms(took)} ms`,
  ratio: ({ ours, floor }) => `${(ours.took / floor.took).toFixed(2)} ×`,
  measures: () => 'start of a process until it serves requests, SQLite FULL',
  must: '≤ 500 ms',
  aims: '300 ms',
  contenders: () => [
    { role: 'floor', name: 'the same framework and drivers', measure: measureFloor },
    { role: 'ours', name: 'agent-messaging start', measure },
  ],
}

const measureFloor = async () => ({
  took: await medianOf(() =>
    inEnvironment(async ({ start: startProgram }) => {
      const since = performance.now()
      await startProgram('send-floor')
      return performance.now() - since
    }),
  ),
})

const measure = () =>
  inEnvironment(async ({ database }) => {
    const file = await database('sqlite')
    await startOnce(file) // creates the tables
    return { took: await medianOf(() => startOnce(file)) }
  })

async function medianOf(measureOne) {
  const times = []
  while (times.length < STARTS) times.push(await measureOne())
  return median(times)
}

/** Returns the time from the spawn to the server's line that it listens. */
async function startOnce(file) {
  const since = performance.now()
  const { end } = await startCli(`file:${file}`)
  const took = performance.now() - since
  await end()
  return took
}
