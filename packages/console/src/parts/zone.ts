import type { Instant } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { createContext, useContext } from 'hono/jsx'
import type { PageRequest } from '../context.js'

/** The cookie with the time zone of the browser. The script of the pages sets it. */
const COOKIE = 'agent_messaging_zone'
const MAX_LENGTH = 64

/** What every part of a page can read. */
type View = {
  readonly c: PageRequest
  readonly now: Instant
  /** The time zone of the viewer, such as `Europe/Berlin`. */
  readonly zone: string
}
export const ViewContext = createContext({} as View)
export const useView = (): View => useContext(ViewContext)
export const viewOf = (c: PageRequest): View => ({ c, now: c.get('now')(), zone: zoneOf(c) })

/** Returns the zone of the request's cookie. Without a script or with an unknown zone, UTC. */
export function zoneOf(c: Context) {
  const zone = getCookie(c, COOKIE) ?? 'UTC'
  return zone.length <= MAX_LENGTH && isZone(zone) ? zone : 'UTC'
}

function isZone(zone: string) {
  try {
    return formatIn(zone) !== undefined
  } catch {
    return false
  }
}

/** Formatters are expensive to make. There are a few hundred zones. */
const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns a formatter with the parts of an ISO time. */
function formatIn(zone: string) {
  const format = formats.get(zone) ?? makeFormat(zone)
  formats.set(zone, format)
  return format
}

const makeFormat = (timeZone: string) =>
  new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })

/** Returns the time of day in a zone, such as `2026-11-23T08:15:00`. */
export function localIso(at: Instant, zone: string) {
  const parts = formatIn(zone).formatToParts(at)
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? ''
  const date = `${part('year')}-${part('month')}-${part('day')}`
  return `${date}T${part('hour')}:${part('minute')}:${part('second')}`
}

/** Returns a time for readers, such as `2026-11-23 08:15:00`. */
export const localTime = (at: Instant, zone: string) => localIso(at, zone).replace('T', ' ')

const DATE_LENGTH = '2026-11-23'.length
/** Returns the date of a time. */
export const localDate = (at: Instant, zone: string) => localIso(at, zone).slice(0, DATE_LENGTH)

/** Returns the time of day, and the date if it is not today's. */
export const shortTime = (at: Instant, now: Instant, zone: string) =>
  localDate(at, zone) === localDate(now, zone)
    ? localIso(at, zone).slice(DATE_LENGTH + 1)
    : localTime(at, zone)

/**
 * Returns the instant of a local time without a zone. A time that a change of the clock skips gives
 * an instant up to an hour away.
 */
export function instantIn(zone: string, local: string) {
  const asUtc = Date.parse(`${local}Z`)
  const offsetAt = (at: Instant) => Date.parse(`${localIso(at, zone)}Z`) - wholeSecond(at)
  const guess = asUtc - offsetAt(asUtc)
  return asUtc - offsetAt(guess)
}

const wholeSecond = (at: Instant) => Math.floor(at / 1_000) * 1_000
