import { expect, it } from 'vitest'
import { PendingStops } from './pending-stops.js'

it('a stop waits for the runs of the agent until it is cancelled', async () => {
  const stops = new PendingStops()
  let endRuns = (): void => undefined
  const runsEnded = new Promise<void>((resolve) => (endRuns = resolve))
  const one = stops.wait('one', runsEnded)
  const other = stops.wait('other', runsEnded)
  stops.cancel('one')
  expect(await one).toBe(false)
  endRuns()
  expect(await other).toBe(true)
  stops.cancel('other')
  expect(await stops.wait('other', runsEnded)).toBe(true)
})
