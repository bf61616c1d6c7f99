import { fileURLToPath } from 'node:url'
import { isBootstrapKey, isMistyped } from '@org/agent-messaging-core/host'
import { addressGuard } from '@org/agent-messaging-adapter-outbound'
import { z } from 'zod'
import { isPostgresUrl } from '@org/agent-messaging-node/wiring'
import { splitPostgresUrl } from '@org/agent-messaging-adapter-postgres/url'

// Parsers from the text of an environment variable to its value. environment.ts describes the
// allowed values for people. A parser can add a reason to the error message as `why`.

/**
 * A value parsed from text. A parser rejects the text by returning `undefined`, or with a reason by
 * throwing it.
 */
const parsed = <T>(parse: (text: string) => T | undefined) =>
  z.string().transform((text, ctx): T => {
    try {
      const value = parse(text)
      if (value !== undefined) return value
      ctx.addIssue({ code: 'custom' })
    } catch (error) {
      const why = (error as Error).message.replace(/\.$/, '')
      ctx.addIssue({ code: 'custom', params: { why } })
    }
    return z.NEVER
  })

export const whole = (min: number, max: number) =>
  z.string().regex(/^\d+$/).transform(Number).pipe(z.number().min(min).max(max))

/** A decimal number, such as `0.5`. */
export const decimal = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+(\.\d+)?$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max))

/** A host name or an address to listen on. */
export const host = z.string().regex(/^[\w.:-]{1,255}$/)

/** Printable ASCII without space and comma, which is safe in a bearer header. */
export const credential = z.string().regex(/^[!-+\--~]{16,255}$/)

/** An API key. A generated key contains a checksum, so that a mistyped key is rejected here. */
export const bootstrapKey = z
  .string()
  .refine(isBootstrapKey, { abort: true })
  .refine((key) => !isMistyped(key), {
    params: { why: 'the checksum of the key is wrong' },
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

/** Master keys, separated by commas. */
export const masterKeys = parsed((text): readonly Uint8Array[] | undefined => {
  const keys = text.split(',').map((one) => masterKey.safeParse(one.trim()).data)
  return keys.includes(undefined) ? undefined : (keys as Uint8Array[])
})

/** The path of a `file:` URL, or an unchanged PostgreSQL URL. */
export const databaseUrl = parsed((text) => {
  if (isPostgresUrl(text)) return hasDatabase(text) ? text : undefined
  return text.startsWith('file:') ? pathOf(text) : undefined
})

/** Some of the names, separated by commas. */
export const names = <Name extends string>(all: readonly Name[]) =>
  parsed((text): readonly Name[] | undefined => {
    const given = text.split(',').map((one) => one.trim() as Name)
    return given.every((one) => all.includes(one)) ? given : undefined
  })

/** An unchanged PostgreSQL URL. */
export const postgresUrl = parsed((text) =>
  isPostgresUrl(text) && hasDatabase(text) ? text : undefined,
)

/** An unchanged URL of a forward proxy. */
export const proxyUrl = parsed((text) =>
  /^https?:\/\/[^/?#]+\/?$/.test(text) && URL.canParse(text) ? text : undefined,
)

const hasDatabase = (url: string) =>
  splitPostgresUrl(url).urls.every(
    (one) => URL.canParse(one) && /^\/[^/]+$/.test(new URL(one).pathname),
  )

/** Rejects URLs with parameters, which would have no effect or become part of the file name. */
function pathOf(url: string): string | undefined {
  if (url.includes('?')) return undefined
  try {
    const path = url.startsWith('file://') ? fileURLToPath(url) : url.slice('file:'.length)
    return path === '' || path.startsWith(':') ? undefined : path
  } catch {
    return undefined
  }
}

/** The base URL of a server, without a slash at the end. */
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

/** NaN if the text is not a number with a unit. */
function msOf(text: string) {
  const [, amount, unit = ''] = /^\s*(\d{1,9})(ms|s|m|h|d)\s*$/.exec(text) ?? []
  return Number(amount) * (UNIT_MS[unit] ?? NaN)
}

/** `5d` in milliseconds. */
export const duration = (minMs: number, maxMs: number) =>
  parsed((text): number | undefined => {
    const ms = msOf(text)
    return ms >= minMs && ms <= maxMs ? ms : undefined
  })

/** `30d` in milliseconds, or Infinity for `off`. */
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

/** Origins of web pages, separated by commas. */
export const origins = parsed((text): readonly string[] | undefined => {
  const given = text.split(',').map((one) => one.trim())
  const isOrigin = (one: string) =>
    /^https?:/.test(one) && URL.canParse(one) && new URL(one).origin === one
  return given.every(isOrigin) ? given : undefined
})

/** A color for light pages, and one for dark pages. */
export const accent = parsed((text): { light: string; dark: string } | undefined => {
  const [, light, dark] = /^(#[\da-f]{6}) *, *(#[\da-f]{6})$/i.exec(text) ?? []
  const isReadable =
    light !== undefined &&
    dark !== undefined &&
    contrast(light, LIGHT_PAGE) >= MIN_CONTRAST &&
    contrast(dark, DARK_PAGE) >= MIN_CONTRAST
  return isReadable ? { light, dark } : undefined
})

/** The least that WCAG 2.2 AA allows for text, on the least contrasting grounds of the pages. */
const MIN_CONTRAST = 4.5
const LIGHT_PAGE = '#f1f3f5'
const DARK_PAGE = '#181d25'

function contrast(one: string, other: string) {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

/** The relative luminance of WCAG 2.2. */
function luminance(color: string) {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

/** `10.0.0.0/8,fd00::/8`, checked by the same address guard that applies them. */
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
