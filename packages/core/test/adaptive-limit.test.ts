import { describe, expect, it } from 'vitest'
import { AdaptiveLimit } from '../src/webhooks/adaptive-limit.js'
import {
  changing,
  failing,
  hanging,
  refusing,
  simulate,
  tokenBucket,
  unlimited,
} from './simulated-receivers.js'

const SEEDS = [1, 2, 3]

describe.each([1, 3])('the limits of %i processes', (processes) => {
  describe.each(SEEDS)('with seed %i', (seed) => {
    it.each([
      [100, 100, 1],
      [100, 10, 1],
      [100, 100, 50],
      [500, 50, 20],
    ])('find a rate limit of %i/s with bursts of %i at %i ms', (perSecond, burst, latencyMs) => {
      const receiver = tokenBucket(perSecond, burst, latencyMs)
      const { acceptedPerSecond, refusedShare } = simulate({ receiver, processes, seed })
      expect(acceptedPerSecond).toBeGreaterThan(0.95 * perSecond)
      expect(refusedShare).toBeLessThan(processes === 1 ? 0.07 : 0.12)
    })

    it('find 20 slots that a receiver refuses to exceed at 50 ms', () => {
      const receiver = refusing(20, 50)
      const { acceptedPerSecond, refusedShare } = simulate({ receiver, processes, seed })
      expect(acceptedPerSecond).toBeGreaterThan(0.8 * 400)
      expect(refusedShare).toBeLessThan(0.12)
    })
  })
})

describe.each(SEEDS)('the limit with seed %i', (seed) => {
  /** What 48 slots take at 25 ms. */
  const free = 48_000 / 25

  it.each([
    [0.1, 'refused', 0.8],
    [0.01, 'refused', 0.9],
    [0.12, 'refused', 0.7],
    [0.1, 'failed', 0.8],
  ] as const)('keeps its rate if %d are %s by chance', (share, verdict, least) => {
    const receiver = failing(share, verdict, unlimited(25))
    expect(simulate({ receiver, seed }).acceptedPerSecond).toBeGreaterThan(least * free)
  })

  it('uses all slots that it gets', () => {
    const receiver = unlimited(50)
    const { acceptedPerSecond } = simulate({ receiver, seed, fromSeconds: 2, toSeconds: 10 })
    expect(acceptedPerSecond).toBeGreaterThan((0.9 * 48_000) / 50)
  })

  it('grows again after its receiver recovered', () => {
    const receiver = changing(20_000, tokenBucket(100, 100, 25), unlimited(25))
    const { acceptedPerSecond } = simulate({ receiver, seed, fromSeconds: 45, toSeconds: 60 })
    expect(acceptedPerSecond).toBeGreaterThan(0.8 * free)
  })

  it('grows again after its receiver refused everything', () => {
    const receiver = changing(5_000, failing(1, 'refused', unlimited(25)), unlimited(25))
    const { acceptedPerSecond } = simulate({ receiver, seed, fromSeconds: 30, toSeconds: 40 })
    expect(acceptedPerSecond).toBeGreaterThan(0.5 * free)
  })

  it('follows a receiver that becomes slower for other reasons', () => {
    const receiver = changing(20_000, unlimited(25), unlimited(100))
    const { acceptedPerSecond } = simulate({ receiver, seed, fromSeconds: 40, toSeconds: 60 })
    expect(acceptedPerSecond).toBeGreaterThan((0.8 * 48_000) / 100)
  })

  it('sends almost nothing to a receiver that refuses everything', () => {
    const receiver = failing(1, 'refused', unlimited(25))
    const { acceptedPerSecond, mostInFlight, limits } = simulate({ receiver, seed })
    expect(acceptedPerSecond).toBe(0)
    expect(mostInFlight).toBeLessThanOrEqual(8)
    expect(limits).toEqual([{ concurrency: 8, requestsPerSecond: 0.5, reason: 'refusals' }])
  })

  it.each([10, 20])('does not hold back %i deliveries a second for refusals by chance', (n) => {
    const receiver = failing(0.1, 'refused', unlimited(25))
    const { acceptedPerSecond } = simulate({ receiver, seed, perSecond: n, toSeconds: 120 })
    expect(acceptedPerSecond).toBeGreaterThan(0.6 * n)
  })

  const pausedSeconds = [30, 90] as const
  it.each([
    ['no limit', () => unlimited(25)],
    ['a rate limit', () => tokenBucket(100, 100, 25)],
    ['slots', () => refusing(20, 50)],
    ['refusals by chance', () => failing(0.1, 'refused', unlimited(25))],
  ])('sends as fast as before within 20 s of a pause of 60 s, with %s', (_, receiver) => {
    const before = simulate({ receiver: receiver(), seed, toSeconds: 30 })
    const after = { pausedSeconds, fromSeconds: 110, toSeconds: 120 }
    const { acceptedPerSecond } = simulate({ receiver: receiver(), seed, ...after })
    expect(acceptedPerSecond).toBeGreaterThan(0.9 * before.acceptedPerSecond)
  })

  it.each([
    ['time out', hanging(15_000)],
    ['are refused', failing(1, 'refused', unlimited(25))],
    ['fail', failing(1, 'failed', unlimited(25))],
  ])('sends as fast as before within 20 s after all requests %s for 60 s', (_, broken) => {
    const receiver = changing(30_000, unlimited(25), changing(90_000, broken, unlimited(25)))
    const { acceptedPerSecond } = simulate({ receiver, seed, fromSeconds: 110, toSeconds: 120 })
    expect(acceptedPerSecond).toBeGreaterThan(0.9 * free)
  })

  it.each([1, 2, 5])('delays no delivery of quiet traffic in an hour, %i at a time', (together) => {
    const quiet = { perSecond: 0.8, toSeconds: 3_600, together }
    const { mostWaitMs } = simulate({ receiver: unlimited(50), seed, ...quiet })
    expect(mostWaitMs).toBeLessThanOrEqual(200)
  })

  it('lowers no limit that holds nothing back', () => {
    const receiver = failing(0.5, 'refused', unlimited(50))
    const { limits } = simulate({ receiver, seed, perSecond: 0.8, toSeconds: 3_600 })
    expect(limits).toEqual([{ concurrency: 8, reason: 'growing' }])
  })

  it('slows a webhook whose receiver refuses more by chance', () => {
    const receiver = failing(0.2, 'refused', unlimited(25))
    expect(simulate({ receiver, seed }).acceptedPerSecond).toBeLessThan(0.1 * free)
  })
})

it.each([
  [0, 0.5],
  [1_000, 1],
  [5_000, 0.5],
])('refusals with a Retry-After of %d ms leave %d requests a second', (retryAfterMs, least) => {
  const limit = new AdaptiveLimit(48, 0)
  for (let n = 0, now = 0; n < 300; n++) {
    now += limit.waitMs(now)
    limit.started(now)
    limit.waitMs(now)
    now += 25
    limit.ended(now, { verdict: 'refused', startedAt: now - 25, retryAfterMs })
  }
  expect(limit.perSecond).toBe(least)
})
