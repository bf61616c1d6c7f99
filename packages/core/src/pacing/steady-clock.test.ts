import { expect, it } from 'vitest'
import type { ClockJump } from '../domain/operations/clock-jump.js'
import type { Clock } from '../ports/platform.js'
import { fakeClock } from '@org/agent-messaging-testing'
import { SteadyClock } from './steady-clock.js'

const HOUR = 3_600_000

function scene() {
  const base = fakeClock(100 * HOUR)
  const jumps: ClockJump[] = []
  let finish = (): void => undefined
  const clock = new SteadyClock(base, (jump) => {
    jumps.push(jump)
    return new Promise<void>((resolve) => {
      finish = resolve
    })
  })
  return { base, clock, jumps, finish: async () => (finish(), await base.advance(0)) }
}

it.each([
  ['forward', HOUR],
  ['back', -HOUR],
])('a jump %s is followed when the storage has followed it', async (_way, byMs) => {
  const { base, clock, jumps, finish } = scene()
  base.set(base.now() + byMs)
  expect(clock.now()).toBe(100 * HOUR)
  await base.advance(500)
  expect(clock.now()).toBe(100 * HOUR + 500)
  expect(jumps).toEqual([{ from: 100 * HOUR, to: 100 * HOUR + byMs }])
  await finish()
  expect(clock.now()).toBe(100 * HOUR + byMs + 500)
  expect(jumps).toHaveLength(1)
})

it('a second jump during the first one follows after it', async () => {
  const { base, clock, jumps, finish } = scene()
  base.set(200 * HOUR)
  clock.now()
  base.set(50 * HOUR)
  expect(clock.now()).toBe(100 * HOUR)
  await finish()
  expect(clock.now()).toBe(200 * HOUR)
  await finish()
  expect(clock.now()).toBe(50 * HOUR)
  expect(jumps).toEqual([
    { from: 100 * HOUR, to: 200 * HOUR },
    { from: 200 * HOUR, to: 50 * HOUR },
  ])
})

it('small corrections are followed at once, and add up to no jump', async () => {
  const { base, clock, jumps } = scene()
  for (let i = 0; i < 10; i++) {
    base.set(base.now() - 1_999)
    expect(clock.now()).toBe(base.now())
    await base.advance(1_000)
  }
  expect(jumps).toEqual([])
})

it('a process that is stopped between two readings has seen no jump', () => {
  const fake = fakeClock(100 * HOUR)
  const jumps: ClockJump[] = []
  let [stops, stoppedMs] = [false, 0]
  const base: Clock = {
    sleep: fake.sleep,
    elapsed: () => fake.elapsed() + stoppedMs,
    now: () => {
      if (stops) stoppedMs = HOUR
      return fake.now() + stoppedMs
    },
  }
  const clock = new SteadyClock(base, async (jump) => jumps.push(jump))
  stops = true
  expect(clock.now()).toBe(101 * HOUR)
  expect(jumps).toEqual([])
})
