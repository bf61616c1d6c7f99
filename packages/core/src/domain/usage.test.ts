import { describe, expect, it } from 'vitest'
import { usageOfAttempt } from './usage.js'

describe('the usage of an attempt', () => {
  it.each([
    [
      { isSent: true, isEnd: true },
      { attempts: 1, bytesOut: 2, deliveries: 1 },
    ],
    [
      { isSent: true, isEnd: false },
      { attempts: 1, bytesOut: 2 },
    ],
    [
      { isSent: false, isEnd: false },
      { attempts: 1, bytesOut: 0 },
    ],
  ])('with %j is %j', (attempt, counts) => {
    expect(usageOfAttempt('p', { body: '{}', ...attempt }, 0)).toMatchObject({ counts })
  })
})
