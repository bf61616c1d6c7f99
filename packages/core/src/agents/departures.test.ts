import { expect, it } from 'vitest'
import { createDepartures } from './departures.js'

it('a wait for the runs of an agent ends with them, or when it is called off', async () => {
  const departures = createDepartures()
  let end = (): void => undefined
  const runsEnded = new Promise<void>((resolve) => (end = resolve))
  const [one, other] = [departures.wait('one', runsEnded), departures.wait('other', runsEnded)]
  departures.callOff('one')
  expect(await one).toBe(false)
  end()
  expect(await other).toBe(true)
  departures.callOff('other')
  expect(await departures.wait('other', runsEnded)).toBe(true)
})
