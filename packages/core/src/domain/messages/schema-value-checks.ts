import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../values/json.js'
import { failure, type SchemaCheck, type SchemaWork } from './schema-work.js'

type Check = SchemaCheck<Json>

/** Returns the checks of keywords that apply no other schema. */
export function valueChecks(schema: JsonObject): Check[] {
  const { type, enum: values, const: constant, format } = schema
  const checks: Check[] = []
  if (type !== undefined) checks.push(typeCheck(new Set(([type] as string[]).flat())))
  if (values !== undefined) checks.push(oneOfCheck(values as Json[], 'any of ', values))
  if (constant !== undefined) checks.push(oneOfCheck([constant], '', constant))
  const name = typeof format === 'string' ? format : ''
  const hasFormat = formatCheck(name)
  if (hasFormat)
    checks.push((value, work) =>
      typeof value !== 'string' || work.once(`format ${name}`, value, hasFormat)
        ? undefined
        : failure(() => `String does not match format "${name}".`),
    )
  return [...checks, ...boundChecks(schema)]
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function typeCheck(types: ReadonlySet<string>): Check {
  const expected = [...types].join('", "')
  return (value) => {
    const type = typeOf(value)
    if (types.has(type) || (types.has('integer') && Number.isInteger(value))) return undefined
    return failure(() => `Instance type "${type}" is invalid. Expected "${expected}".`)
  }
}

/** Compares canonical texts, so the time does not depend on the number of the values. */
function oneOfCheck(values: readonly Json[], which: string, named: Json): Check {
  const texts = new Set(values.map(canonicalJson))
  const failed = failure(() => `Instance does not match ${which}${JSON.stringify(named)}.`)
  return (value, work) =>
    texts.has(work.once('canonical', value, canonicalJson)) ? undefined : failed
}

type Measure = (value: Json, work: SchemaWork) => number | undefined

const numberOf: Measure = (value) => (typeof value === 'number' ? value : undefined)
const lengthOf: Measure = (value, work) =>
  typeof value === 'string' ? work.once('length', value, countCharacters) : undefined

/** Characters are code points. */
function countCharacters(text: string): number {
  let characters = 0
  for (const _ of text) characters++
  return characters
}

const itemsOf: Measure = (value) => (Array.isArray(value) ? value.length : undefined)
const propertiesOf: Measure = (value, work) =>
  isJsonObject(value) ? work.once('keys', value, Object.keys).length : undefined

const atLeast = (size: number, limit: number): boolean => size >= limit
const atMost = (size: number, limit: number): boolean => size <= limit
/** True also for decimals such as 0.3 and 0.1, whose quotient is not exact. */
function isMultiple(value: number, divisor: number): boolean {
  const quotient = value / divisor
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * Number.EPSILON
}

const BOUNDS: readonly (readonly [
  keyword: string,
  measure: Measure,
  fits: (size: number, limit: number) => boolean,
  says: string,
])[] = [
  ['minimum', numberOf, atLeast, 'is less than'],
  ['maximum', numberOf, atMost, 'is greater than'],
  ['exclusiveMinimum', numberOf, (size, limit) => size > limit, 'is not greater than'],
  ['exclusiveMaximum', numberOf, (size, limit) => size < limit, 'is not less than'],
  ['multipleOf', numberOf, isMultiple, 'is not a multiple of'],
  ['minLength', lengthOf, atLeast, 'characters are less than'],
  ['maxLength', lengthOf, atMost, 'characters are more than'],
  ['minItems', itemsOf, atLeast, 'items are less than'],
  ['maxItems', itemsOf, atMost, 'items are more than'],
  ['minProperties', propertiesOf, atLeast, 'properties are less than'],
  ['maxProperties', propertiesOf, atMost, 'properties are more than'],
]

function boundChecks(schema: JsonObject): Check[] {
  return BOUNDS.flatMap(([keyword, measure, fits, says]) => {
    const limit = schema[keyword]
    if (typeof limit !== 'number') return []
    const check: Check = (value, work) => {
      const size = measure(value, work)
      if (size === undefined || fits(size, limit)) return undefined
      return failure(() => `${size} ${says} ${limit}.`)
    }
    return [check]
  })
}

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
export function isUrl(text: string): boolean {
  if (/[\0- ]/.test(text)) return false
  const authority = AUTHORITY.exec(text)?.[1] ?? ''
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d{1,5}$/, '')
  return host.length <= MAX_HOST_LENGTH && URL.canParse(text)
}
