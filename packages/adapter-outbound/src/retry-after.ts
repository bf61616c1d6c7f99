/** A year. Longer waits are unlikely, and sums of milliseconds stay exact. */
const MAX_MS = 366 * 24 * 3_600_000

/**
 * Parses `Retry-After` into milliseconds from `now`. Accepts seconds and the three date formats of
 * RFC 9110 §5.6.7, with white space around them. Returns undefined for anything else.
 */
export function parseRetryAfter(header: unknown, now: number): number | undefined {
  if (typeof header !== 'string') return undefined
  const value = header.trim()
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1_000, MAX_MS)
  const at = parseHttpDate(value, now)
  return at === undefined ? undefined : Math.min(Math.max(0, at - now), MAX_MS)
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const MONTH = `(?<month>${MONTHS.join('|')})`
const TIME = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)'
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day'

const FORMATS = [
  // IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
  `${DAY}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT`,
  // RFC 850: Sunday, 06-Nov-94 08:49:37 GMT
  `${LONG_DAY}, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT`,
  // asctime: Sun Nov  6 08:49:37 1994
  `${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})`,
].map((format) => new RegExp(`^${format}$`))

function parseHttpDate(text: string, now: number): number | undefined {
  for (const format of FORMATS) {
    const parts = format.exec(text)?.groups
    if (parts) return instantOf(parts, now)
  }
  return undefined
}

function instantOf(parts: Readonly<Record<string, string>>, now: number): number | undefined {
  const { year = '', month = '', day, hour, minute, second } = parts
  const [d = 0, h = 0, m = 0, s = 0] = [day, hour, minute, second].map(Number)
  if (d < 1 || d > 31 || h >= 24 || m >= 60 || s > 60) return undefined
  const fullYear = year.length === 2 ? nearestYear(Number(year), now) : Number(year)
  return Date.UTC(fullYear, MONTHS.indexOf(month), d, h, m, s)
}

/** RFC 9110: a two-digit year more than 50 years ahead belongs to the previous century. */
function nearestYear(lastDigits: number, now: number) {
  const thisYear = new Date(now).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + lastDigits
  return year > thisYear + 50 ? year - 100 : year
}
