import { expect, it } from 'vitest'
import { SendGate } from './send-gate.js'

/** A gate with a clock, and `writes`, which all take `waitMs` and end one after the other. */
function scene({ queueMs = 25, burstMs = 500 } = {}) {
  let now = 0
  const gate = new SendGate({ queueMs, burstMs }, now)
  const open = () => {
    let end: () => void = () => undefined
    const write = new Promise<void>((resolve) => (end = resolve))
    const counted = gate.count(write, () => now)
    return async () => {
      end()
      await counted
    }
  }
  async function writes(count: number, waitMs: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const end = open()
      now += waitMs
      await end()
    }
  }
  return { gate, open, writes, refuses: () => gate.refuses(now), pass: (ms: number) => (now += ms) }
}

/** Opens more writes than can wait at any rate. */
function flood({ open }: ReturnType<typeof scene>) {
  const ends = Array.from({ length: 200 }, open)
  return async () => {
    for (const end of ends) await end()
  }
}

it('refuses nothing while commits are quick, at any number of sends', async () => {
  const s = scene()
  await s.writes(200, 10)
  const end = flood(s)
  expect(s.refuses()).toBe(false)
  await end()
})

it('lets a burst pass, and refuses sends when the service stays late', async () => {
  const s = scene()
  await s.writes(14, 30)
  const first = flood(s)
  expect(s.refuses()).toBe(false)
  await first()
  await s.writes(40, 30)
  const second = flood(s)
  expect(s.refuses()).toBe(true)
  await second()
})

it('never refuses if a burst can last forever', async () => {
  const s = scene({ burstMs: Infinity })
  await s.writes(60, 30)
  const end = flood(s)
  expect(s.refuses()).toBe(false)
  await end()
})

it('a late write after a long pause is no overload', async () => {
  const s = scene()
  s.pass(3_600_000)
  await s.writes(1, 300)
  const end = flood(s)
  expect(s.refuses()).toBe(false)
  await end()
})

it('refuses on until no send was refused for a while', async () => {
  const s = scene()
  await s.writes(40, 30)
  const first = flood(s)
  expect(s.refuses()).toBe(true)
  await first()
  await s.writes(50, 6)
  const second = flood(s)
  expect(s.refuses()).toBe(true)
  await second()
  await s.writes(200, 6)
  const third = flood(s)
  expect(s.refuses()).toBe(false)
  await third()
})

/** Returns how many more writes can wait. */
async function roomOf({ open, refuses }: ReturnType<typeof scene>): Promise<number> {
  const ends: ReturnType<typeof open>[] = []
  while (!refuses() && ends.length < 1_000) ends.push(open())
  for (const end of ends) await end()
  return ends.length
}

it('while it refuses, lets 40 writes wait at a low rate', async () => {
  const s = scene()
  await s.writes(40, 30)
  expect(await roomOf(s)).toBe(40)
})

it('while it refuses, lets as many wait as the storage commits in a fifth of queueMs', async () => {
  const s = scene()
  for (let round = 0; round < 40; round++) {
    const ends = Array.from({ length: 300 }, s.open)
    s.pass(30)
    for (const end of ends) await end()
  }
  expect(await roomOf(s)).toBe(50)
})

it('counts a write that fails', async () => {
  const { gate } = scene({ queueMs: 0, burstMs: 0 })
  const failing = gate.count(Promise.reject(new Error('away')), () => 300)
  await expect(failing).rejects.toThrow('away')
  expect(gate.refuses(300)).toBe(false)
})
