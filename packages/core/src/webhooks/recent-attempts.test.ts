import { describe, expect, it } from 'vitest'
import { accepted, aWebhook, refused, unreachable } from '@org/agent-messaging-testing'
import { RecentAttempts } from './recent-attempts.js'

const SECOND = 1_000

describe('a failure is news', () => {
  it('if no request succeeded shortly before', () => {
    const recent = new RecentAttempts()
    expect(recent.note(refused(500), 0, false)).toMatchObject({ isNews: true, failures: 1 })
    recent.note(accepted(), SECOND, false)
    expect(recent.note(refused(500), 1.5 * SECOND, false).isNews).toBe(false)
    const later = recent.note(refused(500), 2.5 * SECOND, false)
    expect(later).toMatchObject({ isNews: true, failures: 2, failingSince: 1.5 * SECOND })
  })

  it('about every ten seconds among successes', () => {
    const recent = new RecentAttempts()
    let news = 0
    for (let at = 0; at < 60 * SECOND; at += 10) {
      if (recent.note(refused(503), at, false).isNews) news++
      for (let n = 0; n < 9; n++) recent.note(accepted(), at, false)
    }
    expect(news).toBe(6)
  })

  it('ten times a second after many in a row', () => {
    const recent = new RecentAttempts()
    let news = 0
    let failures = 0
    for (let at = 0; at < 2 * SECOND; at++) {
      const report = recent.note(unreachable(), at, false)
      if (report.isNews) news++
      if (report.isNews) failures += report.failures
    }
    expect(news).toBeLessThan(45)
    expect(failures).toBeGreaterThan(1_800)
  })

  it('always if the caller says so', () => {
    const recent = new RecentAttempts()
    recent.note(refused(500), 0, false)
    recent.note(accepted(), 1, false)
    recent.note(refused(500), 2, false)
    expect(recent.note(refused(410), 3, true)).toMatchObject({ isNews: true, failures: 2 })
  })
})

describe('a success is news', () => {
  it('once after a failure that was reported', () => {
    const recent = new RecentAttempts()
    expect(recent.note(accepted(), 0, false).isNews).toBe(false)
    recent.note(refused(500), 20 * SECOND, false)
    expect(recent.note(accepted(), 21 * SECOND, false).isNews).toBe(true)
    expect(recent.note(accepted(), 21 * SECOND, false).isNews).toBe(false)
  })
})

describe('a Retry-After pauses the webhook', () => {
  const slow = refused(429, 60 * SECOND)

  it('if it is the first answer', () => {
    expect(new RecentAttempts().note(slow, 0, false).pauses).toBe(true)
  })

  it('if half of the recent answers are refusals', () => {
    const recent = new RecentAttempts()
    for (let n = 0; n < 20; n++) recent.note(accepted(), n, false)
    const pauses = Array.from({ length: 20 }, () => recent.note(slow, 30, false).pauses)
    expect(pauses.indexOf(true)).toBeGreaterThan(5)
    expect(pauses.at(-1)).toBe(true)
  })

  it('if nothing succeeded since an earlier one', () => {
    const recent = new RecentAttempts()
    for (let n = 0; n < 20; n++) recent.note(accepted(), n, false)
    expect(recent.note(slow, 30, false).pauses).toBe(false)
    expect(recent.note(slow, 2 * SECOND, false).pauses).toBe(true)
  })

  it('not for one answer in a hundred', () => {
    const recent = new RecentAttempts()
    const pauses = Array.from({ length: 1_000 }, (_, n) =>
      n % 100 === 50 ? recent.note(slow, n * 100, false).pauses : recent.note(accepted(), n, false),
    )
    expect(pauses).not.toContain(true)
  })

  it('not if the status asks for nothing', () => {
    expect(new RecentAttempts().note(refused(500, SECOND), 0, false).pauses).toBe(false)
    expect(new RecentAttempts().note(unreachable('interrupted'), 0, false).isNews).toBe(false)
  })
})

it('a webhook has the last success that the store was asked to keep, if it had one before', () => {
  const recent = new RecentAttempts()
  const untried = aWebhook()
  const tried = { ...untried, health: { ...untried.health, lastSuccessAt: 5 } }
  expect(recent.withKeptSuccess(tried)).toBe(tried)
  recent.keepSuccess(7)
  expect(recent.withKeptSuccess(untried)).toBe(untried)
  expect(recent.withKeptSuccess(tried).health).toEqual({ ...tried.health, lastSuccessAt: 7 })
  recent.keepSuccess(4)
  expect(recent.withKeptSuccess(tried)).toBe(tried)
})
