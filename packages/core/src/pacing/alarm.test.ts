import { expect, it } from 'vitest'
import { fakeClock } from '../testing/fake-clock.js'
import { Alarm } from './alarm.js'

it('rings at the earliest time that it was set to, and not after a stop', async () => {
  const clock = fakeClock()
  const since = clock.elapsed()
  const rings: number[] = []
  const alarm = new Alarm(clock, () => rings.push(clock.elapsed() - since))
  alarm.set(since + 50)
  alarm.set(since + 20.5)
  alarm.set(since + 30)
  await clock.advance(40)
  expect(rings).toEqual([21])
  alarm.set(since + 100)
  alarm.stop()
  alarm.set(since + 100)
  await clock.advance(100)
  expect(rings.filter((at) => at > 50)).toEqual([])
})
