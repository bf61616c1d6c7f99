import { describe, expect, it } from 'vitest'
import { parseRetryAfter } from './retry-after.js'

const now = Date.UTC(2030, 0, 1)
const YEAR_MS = 366 * 24 * 3_600_000

describe('Retry-After (RFC 9110 §10.2.3)', () => {
  it.each([
    ['0', 0],
    ['120', 120_000],
    ['0007', 7_000],
    ['60 ', 60_000],
    ['\t 60\t', 60_000],
    ['Tue, 01 Jan 2030 00:01:00 GMT ', 60_000],
    ['Tue, 01 Jan 2030 00:01:00 GMT', 60_000],
    ['Tue, 01 Jan 2030 00:00:60 GMT', 60_000], // A leap second.
    ['Tuesday, 01-Jan-30 00:01:00 GMT', 60_000],
    ['Tue Jan  1 00:01:00 2030', 60_000],
    ['Thu Jan 10 00:00:00 2030', 9 * 24 * 3_600_000],
  ])('%j is %d ms', (value, ms) => expect(parseRetryAfter(value, now)).toBe(ms))

  it.each([
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
  ])('%j is in the past and means 0 ms', (value) => expect(parseRetryAfter(value, now)).toBe(0))

  it.each(['99999999999', '9'.repeat(400), 'Tue, 01 Jan 9999 00:00:00 GMT'])(
    '%s is limited to a year',
    (value) => expect(parseRetryAfter(value, now)).toBe(YEAR_MS),
  )

  it('reads a two-digit year as at most 50 years ahead', () => {
    expect(parseRetryAfter('Wednesday, 01-Jan-80 00:00:00 GMT', now)).toBe(YEAR_MS)
    expect(parseRetryAfter('Thursday, 01-Jan-81 00:00:00 GMT', now)).toBe(0)
  })

  const nonsense = [
    '',
    ' ',
    '-1',
    '+1',
    '1.5',
    '1e3',
    '0x10',
    '10 s',
    'soon',
    '2030-01-01T00:01:00Z',
    'Tue, 01 Jan 2030 00:01:00',
    'Tue, 01 Jan 2030 00:01:00 CET',
  ]
  const impossible = [
    'Tue, 32 Jan 2030 00:01:00 GMT',
    'Tue, 00 Jan 2030 00:01:00 GMT',
    'Tue, 01 Jan 2030 24:00:00 GMT',
    'Tue, 01 Jan 2030 00:60:00 GMT',
    'Tue, 01 Jan 2030 00:00:61 GMT',
    'Tue, 01 Foo 2030 00:01:00 GMT',
    '120, 120',
  ]
  it.each([...nonsense, ...impossible, undefined, ['1', '2']])('%j is ignored', (value) =>
    expect(parseRetryAfter(value, now)).toBeUndefined(),
  )
})
