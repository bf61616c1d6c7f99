/** A year: more than anybody means, and far from where a sum of milliseconds would lose digits. */
const MAX_MS = 366 * 24 * 3_600_000

/** `Retry-After` in milliseconds from `now`: seconds or a date in any of the three forms of RFC 9110 §5.6.7. Undefined for what is neither. */
export function parseRetryAfter(value: unknown, now: number): number | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1_000, MAX_MS)
  const at = parseHttpDate(value, now)
  return at === undefined ? undefined : Math.min(Math.max(0, at - now), MAX_MS)
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const MONTH = `(?<month>${MONTHS.join('|')})`
const TIME = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)'
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day'

const FORMS = [
  `${DAY}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT`, // IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
  `${LONG_DAY}, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT`, // RFC 850: Sunday, 06-Nov-94 08:49:37 GMT
  `${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})`, // asctime: Sun Nov  6 08:49:37 1994
].map((form) => new RegExp(`^${form}$`))

function parseHttpDate(text: string, now: number): number | undefined {
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups
    if (parts) return instantOf(parts, now)
  }
  return undefined
}

function instantOf(parts: Readonly<Record<string, string>>, now: number): number | undefined {
  const { year = '', month = '', day, hour, minute, second } = parts
  const at = (fullYear: number) =>
    Date.UTC(
      fullYear,
      MONTHS.indexOf(month),
      Number(day),
      Number(hour),
      Number(minute),
      Number(second),
    )
  const isReal =
    Number(day) >= 1 &&
    Number(day) <= 31 &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) <= 60
  if (!isReal) return undefined
  return at(year.length === 2 ? nearestYear(Number(year), now) : Number(year))
}

/** RFC 9110: two digits that seem to lie more than 50 years ahead mean the century before. */
function nearestYear(lastDigits: number, now: number): number {
  const thisYear = new Date(now).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + lastDigits
  return year > thisYear + 50 ? year - 100 : year
}
