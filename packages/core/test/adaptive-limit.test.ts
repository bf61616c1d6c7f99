import { describe, expect, it } from 'vitest'
import {
  changing,
  failing,
  queueing,
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
      [20, 20, 5],
      [500, 50, 20],
    ])('find a rate limit of %i/s with bursts of %i at %i ms', (perSecond, burst, latencyMs) => {
      const receiver = tokenBucket(perSecond, burst, latencyMs)
      const { acceptedPerSecond, refusedShare } = simulate({ receiver, processes, seed })
      expect(acceptedPerSecond).toBeGreaterThan(0.9 * perSecond)
      expect(refusedShare).toBeLessThan(processes === 1 ? 0.05 : 0.25)
    })

    it.each([
      [4, 50],
      [20, 50],
      [10, 10],
    ])('find %i slots that a receiver refuses to exceed at %i ms', (slots, latencyMs) => {
      const receiver = refusing(slots, latencyMs)
      const { acceptedPerSecond, refusedShare } = simulate({ receiver, processes, seed })
      expect(acceptedPerSecond).toBeGreaterThan((0.6 * slots * 1_000) / latencyMs)
      expect(refusedShare).toBeLessThan(0.25)
    })

    it.each([
      [4, 50],
      [20, 50],
      [10, 200],
    ])('find %i slots before a queue at %i ms', (slots, latencyMs) => {
      const receiver = queueing(slots, latencyMs)
      const { acceptedPerSecond, limits } = simulate({ receiver, processes, seed })
      expect(acceptedPerSecond).toBeGreaterThan((0.8 * slots * 1_000) / latencyMs)
      if (processes === 1) expect(limits[0]?.concurrency).toBeLessThanOrEqual(3 * slots)
    })
  })
})

describe.each(SEEDS)('the limit with seed %i', (seed) => {
  const free = 48_000 / 25

  it.each([
    [0.1, 'refused', 0.8],
    [0.01, 'refused', 0.9],
    [0.1, 'failed', 0.8],
    [0.3, 'refused', 0.5],
  ] as const)('keeps its rate if %d are %s by chance', (share, verdict, least) => {
    const receiver = failing(share, verdict, unlimited(25))
    const { acceptedPerSecond } = simulate({ receiver, seed })
    expect(acceptedPerSecond).toBeGreaterThan(least * free)
  })

  it('uses all slots that it gets', () => {
    const receiver = unlimited(50)
    const { acceptedPerSecond } = simulate({ receiver, seed, fromSeconds: 2, toSeconds: 10 })
    expect(acceptedPerSecond).toBeGreaterThan((0.9 * 48_000) / 50)
  })

  it('finds a rate limit below refusals by chance', () => {
    const receiver = failing(0.05, 'refused', tokenBucket(100, 50, 10))
    const { acceptedPerSecond, refusedShare } = simulate({ receiver, seed })
    expect(acceptedPerSecond).toBeGreaterThan(15)
    expect(refusedShare).toBeLessThan(0.12)
  })

  it('grows again after its receiver recovered', () => {
    const receiver = changing(20_000, tokenBucket(100, 100, 25), unlimited(25))
    const { acceptedPerSecond } = simulate({ receiver, seed, fromSeconds: 45, toSeconds: 60 })
    expect(acceptedPerSecond).toBeGreaterThan(0.8 * free)
  })

  it('follows a receiver that becomes slower for other reasons', () => {
    const receiver = changing(20_000, unlimited(25), unlimited(100))
    const { acceptedPerSecond } = simulate({ receiver, seed, fromSeconds: 40, toSeconds: 60 })
    expect(acceptedPerSecond).toBeGreaterThan((0.8 * 48_000) / 100)
  })

  it('sends almost nothing to a receiver that refuses everything', () => {
    const receiver = failing(1, 'refused', unlimited(25))
    const { acceptedPerSecond, mostInFlight } = simulate({ receiver, seed })
    expect(acceptedPerSecond).toBe(0)
    expect(mostInFlight).toBeLessThanOrEqual(8)
  })

  it('does not delay deliveries that come slower than the receiver takes them', () => {
    const receiver = failing(0.1, 'refused', unlimited(25))
    const { acceptedPerSecond } = simulate({ receiver, seed, perSecond: 20, toSeconds: 120 })
    expect(acceptedPerSecond).toBeGreaterThan(19)
  })
})
