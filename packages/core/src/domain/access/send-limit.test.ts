import { describe, expect, it } from 'vitest'
import {
  eventTakes,
  hasLimits,
  takeTokens,
  tokenTakes,
  type FullTimes,
  type SendLimit,
} from './send-limit.js'

const NOW = 1_900_000_000_000
const limit: SendLimit = { messagesPerMinute: 60, burst: 3 }
const take = { bucket: 'project p', of: 'project', limit } as const

describe('takeTokens', () => {
  it('gives the burst at once, and then one token per interval', () => {
    let stored: FullTimes = new Map()
    const at = (now: number) => {
      const { isTaken, fullTimes, levels } = takeTokens([take], stored, now)
      stored = fullTimes
      return [isTaken, levels[0]?.remaining, levels[0]?.retryInMs, levels[0]?.fullInMs]
    }
    expect(at(NOW)).toEqual([true, 2, 0, 1_000])
    expect(at(NOW)).toEqual([true, 1, 0, 2_000])
    expect(at(NOW)).toEqual([true, 0, 1_000, 3_000])
    expect(at(NOW)).toEqual([false, 0, 1_000, 3_000])
    expect(at(NOW + 999)).toEqual([false, 0, 1, 2_001])
    expect(at(NOW + 1_000)).toEqual([true, 0, 1_000, 3_000])
    expect(at(NOW + 60_000)).toEqual([true, 2, 0, 1_000])
  })

  it('takes the tokens of several events, or all of a bucket that is smaller', () => {
    const asked = (count: number, stored: FullTimes) => takeTokens([take], stored, NOW, count)
    const two = asked(2, new Map())
    expect([two.isTaken, two.levels[0]?.remaining]).toEqual([true, 1])
    const refused = asked(2, two.fullTimes)
    expect([refused.isTaken, refused.levels[0]?.retryInMs]).toEqual([false, 1_000])
    expect(refused.fullTimes).toEqual(two.fullTimes)
    const many = asked(10, new Map())
    expect([many.isTaken, many.levels[0]?.fullInMs]).toEqual([true, 3_000])
    expect(asked(10, two.fullTimes).levels[0]?.retryInMs).toBe(2_000)
  })

  it('takes from no bucket if one is empty', () => {
    const key = { bucket: 'key k', of: 'key', limit: { messagesPerMinute: 1, burst: 1 } } as const
    const first = takeTokens([take, key], new Map(), NOW)
    const second = takeTokens([take, key], first.fullTimes, NOW)
    expect([first.isTaken, second.isTaken]).toEqual([true, false])
    expect(second.fullTimes).toEqual(first.fullTimes)
    expect(second.levels.map(({ of, retryInMs }) => [of, retryInMs])).toEqual([
      ['project', 0],
      ['key', 60_000],
    ])
  })

  it('fills up again after the clock was set back', () => {
    const stored = new Map([[take.bucket, (NOW + 86_400_000) * 1_000]])
    expect(takeTokens([take], stored, NOW).levels[0]?.retryInMs).toBe(1_000)
  })
})

describe('eventTakes', () => {
  it('prefers the own limit of a project', () => {
    const events = { eventsPerMinute: 60, burst: 3 }
    expect(eventTakes({ project: limit }, { key: limit }, 'p')).toEqual([])
    expect(eventTakes({ events }, undefined, 'p')).toEqual([
      { bucket: 'events p', of: 'events', limit },
    ])
    const own = { events: { eventsPerMinute: 1, burst: 1 } }
    expect(eventTakes({ events }, own, 'p')).toMatchObject([{ limit: { messagesPerMinute: 1 } }])
    expect([hasLimits(own), hasLimits({ key: limit }), hasLimits({})]).toEqual([true, true, false])
  })
})

describe('tokenTakes', () => {
  it('prefers the own limits of a project', () => {
    const own = { messagesPerMinute: 5, burst: 5 }
    const ref = { projectId: 'p', apiKeyId: 'k' }
    expect(tokenTakes({}, undefined, ref)).toEqual([])
    expect(tokenTakes({ project: limit }, { key: own }, ref)).toEqual([
      { bucket: 'project p', of: 'project', limit },
      { bucket: 'key p k', of: 'key', limit: own },
    ])
    expect(tokenTakes({ key: limit }, undefined, { projectId: 'p', caller: 'u' })).toEqual([
      { bucket: 'caller p u', of: 'caller', limit },
    ])
    expect(
      tokenTakes({ project: limit, key: limit }, { project: own }, { projectId: 'p' }),
    ).toEqual([{ bucket: 'project p', of: 'project', limit: own }])
  })
})
