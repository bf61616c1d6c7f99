import { fileURLToPath } from 'node:url'
import { isBootstrapKey, isMistyped } from '@org/agent-messaging-core/runtime'
import { addressGuard } from '@org/agent-messaging-outbound'
import { z } from 'zod'
import { isPostgresUrl } from './database-url.js'

// What the text of an environment variable may be, and the value that it stands for. The sentence about what a variable takes
// stands beside it in environment.ts; a check with more to say gives it as `why`.

/** A value made of text; `undefined` refuses the text. */
const parsed = <T>(parse: (text: string) => T | undefined) =>
  z.string().transform((text, ctx): T => {
    const value = parse(text)
    if (value !== undefined) return value
    ctx.addIssue({ code: 'custom' })
    return z.NEVER
  })

export const whole = (min: number, max: number) =>
  z.string().regex(/^\d+$/).transform(Number).pipe(z.number().min(min).max(max))

/** A name or an address to bind. */
export const host = z.string().regex(/^[\w.:-]{1,255}$/)

/** Printable ASCII without space and comma: what survives as a bearer credential. */
export const credential = z.string().regex(/^[!-+\--~]{1,255}$/)

/** A key of our own form has a checksum, and a mistyped one would never open anything. */
export const bootstrapKey = z
  .string()
  .refine(isBootstrapKey, { abort: true })
  .refine((key) => !isMistyped(key), {
    params: { why: 'it begins as our own keys do, but its checksum is wrong' },
  })

export const headerToken = z.string().regex(/^[!#$%&'*+\-.^_`|~\w]{1,64}$/)

const KEY_BYTES = 32

/** 32 bytes as 64 hexadecimal digits, or as base64. */
export const masterKey = parsed((text): Uint8Array | undefined => {
  const encoding = /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64'
  const key = Buffer.from(text, encoding)
  const isWhole = encoding === 'hex' || /^[\w+/-]{43}=?$/.test(text)
  return isWhole && key.length === KEY_BYTES ? key : undefined
})

/** Some of these, with commas between them. */
export const masterKeys = parsed((text): readonly Uint8Array[] | undefined => {
  const keys = text.split(',').map((one) => masterKey.safeParse(one.trim()).data)
  return keys.includes(undefined) ? undefined : (keys as Uint8Array[])
})

/** `file:` and a path, or a `file:///` URL: gives the path. Or the URL of a PostgreSQL database, as it is. */
export const databaseUrl = parsed((text) => {
  if (isPostgresUrl(text)) return hasDatabase(text) ? text : undefined
  return text.startsWith('file:') ? pathOf(text) : undefined
})

/** The URL of a PostgreSQL database, as it is. */
export const postgresUrl = parsed((text) =>
  isPostgresUrl(text) && hasDatabase(text) ? text : undefined,
)

const hasDatabase = (url: string): boolean =>
  URL.canParse(url) && /^\/[^/]+$/.test(new URL(url).pathname)

/** Parameters, as other programs take them behind a `?`, would become a part of the name, or have no effect. */
function pathOf(url: string): string | undefined {
  if (url.includes('?')) return undefined
  try {
    const path = url.startsWith('file://') ? fileURLToPath(url) : url.slice('file:'.length)
    return path === '' || path.startsWith(':') ? undefined : path
  } catch {
    return undefined
  }
}

/** The base of our own URLs as others reach us, without a slash at its end. */
export const publicUrl = parsed((text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const fits =
    url &&
    /^https?:$/.test(url.protocol) &&
    url.username + url.password + url.search + url.hash === ''
  return fits ? url.href.replace(/\/+$/, '') : undefined
})

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const MAX_DELAY_MS = 30 * 86_400_000
const MAX_RETRIES = 50
const MAX_RETENTION_MS = 3_650 * 86_400_000

/** NaN for what is not a number with a unit. */
function msOf(text: string): number {
  const [, amount, unit = ''] = /^\s*(\d{1,9})(ms|s|m|h|d)\s*$/.exec(text) ?? []
  return Number(amount) * (UNIT_MS[unit] ?? NaN)
}

/** `5d` in milliseconds. */
export const duration = (minMs: number, maxMs: number) =>
  parsed((text): number | undefined => {
    const ms = msOf(text)
    return ms >= minMs && ms <= maxMs ? ms : undefined
  })

/** `30d` in milliseconds, or `off`: for ever. */
export const retention = parsed((text): number | undefined => {
  const ms = text === 'off' ? Infinity : msOf(text)
  return ms === Infinity || (ms >= 1_000 && ms <= MAX_RETENTION_MS) ? ms : undefined
})

/** `5s,5m,2h` in milliseconds. */
export const schedule = parsed((text): readonly number[] | undefined => {
  const delays = text.split(',').map(msOf)
  const fits =
    delays.length <= MAX_RETRIES && delays.every((delay) => delay > 0 && delay <= MAX_DELAY_MS)
  return fits ? delays : undefined
})

/** `10.0.0.0/8,fd00::/8`, by the rules of the guard that will go by them. */
export const cidrs = z.string().transform((text, ctx): readonly string[] => {
  const ranges = text.split(',').map((part) => part.trim())
  try {
    addressGuard({ allowedCidrs: ranges })
    return ranges
  } catch (error) {
    ctx.addIssue({ code: 'custom', params: { why: (error as TypeError).message } })
    return z.NEVER
  }
})
