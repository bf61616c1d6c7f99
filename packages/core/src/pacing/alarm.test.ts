import { expect, it } from 'vitest'
import { fakeClock } from '@org/agent-messaging-testing'
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
  expect(rings).toEqual([21])
})

it('sleeps once, however often it is set', async () => {
  const clock = fakeClock()
  const since = clock.elapsed()
  let rings = 0
  const alarm = new Alarm(clock, () => rings++)
  for (let ms = 100; ms > 50; ms--) alarm.set(since + ms)
  expect(clock.sleepers).toBe(1)
  await clock.advance(200)
  expect(rings).toBe(1)
})
