/** Milliseconds since 1970 UTC. ISO 8601 exists on the wire only. */
export type Instant = number

/** The wire form of an instant: ISO 8601, UTC, milliseconds. */
export const toIso = (at: Instant): string => new Date(at).toISOString()

export const toIsoIfSet = (instant: Instant | undefined): string | undefined =>
  instant === undefined ? undefined : toIso(instant)

/** A row whose instants are in their wire form. Their names end with `At`. */
export type WithIso<Row> = {
  readonly [K in keyof Row]: K extends `${string}At` ? string | Exclude<Row[K], Instant> : Row[K]
}
export const withIso = <Row extends object>(row: Row): WithIso<Row> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]: [string, unknown]) => [
      name,
      name.endsWith('At') && typeof value === 'number' ? toIso(value) : value,
    ]),
  ) as WithIso<Row>

/** The end of a sentence about a text that `instantOf` does not understand. */
export const INSTANT_RULE =
  'must be an ISO 8601 instant with a time zone, such as 2030-01-31T12:00:00Z'
export const DAY_RULE = 'must be a date such as 2030-01-31'

const DAY = /^\d{4}-\d\d-\d\d$/
const INSTANT = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/

/** Returns undefined for any other value than the text of an instant. */
export function instantOf(value: unknown): Instant | undefined {
  const day = typeof value === 'string' ? INSTANT.exec(value)?.[1] : undefined
  const instant = dayIn(day) === undefined ? Number.NaN : Date.parse(value as string)
  return Number.isNaN(instant) ? undefined : instant
}

/** Returns the start of a day in UTC. The parser would take the 30th of February for a day of March. */
export function dayIn(value: unknown): Instant | undefined {
  if (typeof value !== 'string' || !DAY.test(value)) return undefined
  const instant = Date.parse(value)
  return !Number.isNaN(instant) && toIso(instant).startsWith(value) ? instant : undefined
}
