/**
 * The formats that an answer must have. Each takes time in proportion to the text: its expressions
 * are anchored, and no two of their neighbours can take the same character.
 */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: isTime,
  'date-time': isDateTime,
  duration: isDuration,
  email: isEmail,
  hostname: isHostname,
  ipv4: isIpv4,
  ipv6: isIpv6,
  uri: isUrl,
  url: isUrl,
  uuid: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
}

/** Returns the check of a format, or undefined if the format is only an annotation. */
export const formatCheck = (format: string): ((text: string) => boolean) | undefined =>
  Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number)
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && isLeapYear ? 29 : (DAYS[month - 1] ?? 0)
  return day >= 1 && day <= days
}

const TIME = /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:z|([+-])(\d{2}):(\d{2}))$/i
const MINUTES_OF_DAY = 24 * 60

/** RFC 3339: with an offset, and with the second 60 only at the end of a day in UTC. */
function isTime(text: string): boolean {
  const parts = TIME.exec(text)
  if (!parts) return false
  const [hour, minute, second] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const [hours, minutes] = [Number(parts[5] ?? 0), Number(parts[6] ?? 0)]
  if (hour > 23 || minute > 59 || second > 60 || hours > 23 || minutes > 59) return false
  if (second < 60) return true
  const offset = (hours * 60 + minutes) * (parts[4] === '-' ? -1 : 1)
  return (hour * 60 + minute - offset + MINUTES_OF_DAY) % MINUTES_OF_DAY === MINUTES_OF_DAY - 1
}

function isDateTime(text: string): boolean {
  return isDate(text.slice(0, 10)) && /^[t ]$/i.test(text.charAt(10)) && isTime(text.slice(11))
}

function isDuration(text: string): boolean {
  if (/^P\d+W$/.test(text)) return true
  return /^P(?=[\dT])(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?$/.test(text)
}

/** A quoted local part is allowed, as in RFC 5321. */
const LOCAL_PART =
  /^("([ !#-[\]-~]|\\[ -~])*"|[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*)$/

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  const host = text.slice(at + 1)
  if (at < 1 || at > 64 || !LOCAL_PART.test(local)) return false
  if (!host.startsWith('[') || !host.endsWith(']')) return isHostname(host)
  const address = host.slice(1, -1)
  return /^ipv6:/i.test(address) ? isIpv6(address.slice(5)) : isIpv4(address)
}

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i

function isHostname(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => LABEL.test(label))
}

const BYTE = /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/

function isIpv4(text: string): boolean {
  const bytes = text.length <= 15 ? text.split('.') : []
  return bytes.length === 4 && bytes.every((byte) => BYTE.test(byte))
}

/** Eight groups. `::` stands for one or more of them, and an IPv4 address for the last two. */
function isIpv6(text: string): boolean {
  if (text.length > 45) return false
  const dotted = text.includes('.') ? text.slice(text.lastIndexOf(':') + 1) : undefined
  if (dotted !== undefined && !isIpv4(dotted)) return false
  const whole = dotted === undefined ? text : `${text.slice(0, -dotted.length)}0:0`
  const halves = whole.split('::').map((half) => (half === '' ? [] : half.split(':')))
  const groups = halves.flat()
  const hasRoom = halves.length === 1 ? groups.length === 8 : groups.length <= 7
  return hasRoom && halves.length <= 2 && groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))
}

const AUTHORITY = /^(?:https?|wss?|ftp|file):[\\/]*([^\\/?#]*)/i
const MAX_HOST_LENGTH = 253

/** `URL.canParse` takes quadratic time for a host of Unicode letters, so a host has a limit. */
function isUrl(text: string): boolean {
  if (/[\0- ]/.test(text)) return false
  const authority = AUTHORITY.exec(text)?.[1] ?? ''
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d{1,5}$/, '')
  return host.length <= MAX_HOST_LENGTH && URL.canParse(text)
}
