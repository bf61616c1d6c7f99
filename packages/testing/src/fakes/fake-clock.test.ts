import { describe, expect, it } from 'vitest'
import { fakeClock } from './fake-clock.js'

describe('the fake clock', () => {
  it('stands still until it is moved', async () => {
    const clock = fakeClock(1_000)
    expect(clock.now()).toBe(1_000)
    await clock.advance(500)
    expect(clock.now()).toBe(1_500)
  })

  it('wakes sleepers in the order of their time, each at its own instant', async () => {
    const clock = fakeClock(0)
    const woken: [string, number][] = []
    const sleep = async (name: string, ms: number): Promise<void> => {
      await clock.sleep(ms)
      woken.push([name, clock.now()])
    }
    const all = [
      sleep('late', 300),
      sleep('early', 100),
      sleep('also late', 300),
      sleep('too late', 301),
    ]
    await clock.advance(300)
    expect(woken).toEqual([
      ['early', 100],
      ['late', 300],
      ['also late', 300],
    ])
    expect(clock.sleepers).toBe(1)
    await clock.advance(1)
    await Promise.all(all)
  })

  it('lets what a sleeper sets off run, and sleep again, before time moves on', async () => {
    const clock = fakeClock(0)
    const ticks: number[] = []
    async function loop(): Promise<void> {
      while (ticks.length < 5) {
        await clock.sleep(100)
        for (let step = 0; step < 150; step++) await Promise.resolve()
        ticks.push(clock.now())
      }
    }
    const looping = loop()
    await clock.advance(1_000)
    expect(ticks).toEqual([100, 200, 300, 400, 500])
    await looping
  })

  it('ends a sleep early on abort, and does not begin one after it', async () => {
    const clock = fakeClock(0)
    const aborter = new AbortController()
    const sleeping = clock.sleep(1_000, aborter.signal)
    expect(clock.sleepers).toBe(1)
    aborter.abort()
    await sleeping
    expect(clock.sleepers).toBe(0)
    await clock.sleep(1_000, aborter.signal)
    expect(clock.now()).toBe(0)
  })

  it('lets the signal go of a sleep that is over', async () => {
    const clock = fakeClock(0)
    const listeners = new Set<unknown>()
    const signal = {
      aborted: false,
      addEventListener: (_: string, listener: unknown) => listeners.add(listener),
      removeEventListener: (_: string, listener: unknown) => listeners.delete(listener),
    } as unknown as AbortSignal
    const sleeping = clock.sleep(10, signal)
    expect(listeners.size).toBe(1)
    await clock.advance(10)
    await sleeping
    expect(listeners.size).toBe(0)
  })

  it('wakes sleeps of 0 ms and less at the next advance', async () => {
    const clock = fakeClock(0)
    let isAwake = false
    const sleeping = clock.sleep(-5).then(() => (isAwake = true))
    await Promise.resolve()
    expect(isAwake).toBe(false)
    await clock.advance(0)
    expect(isAwake).toBe(true)
    await sleeping
  })

  it('changes the time of day without waking a sleeper', async () => {
    const clock = fakeClock(10_000)
    let wokenAt: number | undefined
    const sleeping = clock.sleep(1_000).then(() => (wokenAt = clock.now()))
    clock.set(500_000)
    expect(clock.now()).toBe(500_000)
    await clock.advance(999)
    expect(wokenAt).toBeUndefined()
    clock.set(0)
    await clock.advance(1)
    expect(wokenAt).toBe(1)
    await sleeping
  })

  it('advances until a condition holds, plain or asynchronous', async () => {
    const clock = fakeClock(0)
    let isDone = false
    const working = clock.sleep(5_000).then(() => (isDone = true))
    await clock.until(() => isDone)
    expect(clock.now()).toBe(5_000)
    await clock.until(async () => clock.now() >= 6_000, { stepMs: 1_000 })
    expect(clock.now()).toBe(6_000)
    await working
  })

  it('names the condition, the time and the sleepers', async () => {
    const clock = fakeClock(0)
    const isAnswered = false
    const hopeless = clock.until(() => isAnswered, { maxMs: 1_000 })
    await expect(hopeless).rejects.toThrow(
      /after 1000 ms, at 1970-01-01T00:00:01.000Z, still not: .*isAnswered.*no code sleeps/,
    )
    void clock.sleep(5_000)
    await expect(clock.until(() => isAnswered, { maxMs: 1_000 })).rejects.toThrow(
      '1 sleep, the next one for another 4000 ms',
    )
  })

  it('does not hang on code that sleeps 0 ms in a loop', async () => {
    const clock = fakeClock(0)
    let goesOn = true
    const spinning = (async () => {
      while (goesOn) await clock.sleep(0)
    })()
    await expect(clock.advance(1)).rejects.toThrow('sleeps 0 ms in a loop')
    goesOn = false
    await clock.advance(1)
    await spinning
  })

  it('does not hang on code that asks for the time in a loop', async () => {
    const clock = fakeClock(0)
    let goesOn = true
    const spinning = (async () => {
      while (goesOn && clock.now() < 1_000) await Promise.resolve()
    })()
    await expect(clock.advance(1)).rejects.toThrow('keeps asking for the time')
    goesOn = false
    await spinning
  })

  it('refuses to go back, to advance twice at once and to sleep for no number', async () => {
    const clock = fakeClock(0)
    await expect(clock.advance(-1)).rejects.toThrow(RangeError)
    const advancing = clock.advance(1)
    await expect(clock.advance(1)).rejects.toThrow('await it first')
    await advancing
    expect(() => clock.sleep(Number.NaN)).toThrow(RangeError)
  })
})
