import { describe, expect, it } from 'vitest'
import { instantIn, localIso, localTime } from './zone.js'

const at = Date.parse('2026-07-01T22:30:15.500Z')

describe('a local time', () => {
  it.each([
    ['UTC', '2026-07-01T22:30:15'],
    ['Europe/Berlin', '2026-07-02T00:30:15'],
    ['Asia/Kolkata', '2026-07-02T04:00:15'],
    ['America/St_Johns', '2026-07-01T20:00:15'],
  ])('in %s is %s, and gives the same instant back', (zone, local) => {
    expect(localIso(at, zone)).toBe(local)
    expect(localTime(at, zone)).toBe(local.replace('T', ' '))
    expect(instantIn(zone, local)).toBe(at - 500)
  })

  it.each([
    ['in winter', '2026-01-10T12:00', '2026-01-10T11:00:00.000Z'],
    ['before the change to summer time', '2026-03-29T01:59', '2026-03-29T00:59:00.000Z'],
    ['after the change to summer time', '2026-03-29T03:00', '2026-03-29T01:00:00.000Z'],
    ['after the change to winter time', '2026-10-25T03:00', '2026-10-25T02:00:00.000Z'],
  ])('%s has the offset of that day', (_, local, instant) => {
    expect(new Date(instantIn('Europe/Berlin', local)).toISOString()).toBe(instant)
  })
})
