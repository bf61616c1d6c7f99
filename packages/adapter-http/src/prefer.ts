/**
 * A caller's preferences about waiting (RFC 7240 §4.1, §4.3). Other or malformed preferences are
 * ignored.
 */
export type Preferences = { readonly waitSeconds?: number; readonly respondAsync: boolean }

const NONE: Preferences = { respondAsync: false }

/** Reads one or more `Prefer` headers, joined by commas. The first value of a preference counts. */
export function readPrefer(header: string | undefined): Preferences {
  if (header === undefined) return NONE
  const preferences = new Map<string, string>()
  for (const element of splitUnquoted(header, ',')) {
    const [preference = ''] = splitUnquoted(element, ';')
    const [name = '', value = ''] = splitUnquoted(preference, '=').map((part) => part.trim())
    if (!preferences.has(name.toLowerCase())) preferences.set(name.toLowerCase(), unquoted(value))
  }
  const wait = preferences.get('wait')
  return {
    respondAsync: preferences.get('respond-async') === '',
    ...(wait !== undefined && /^\d+$/.test(wait) && { waitSeconds: Number(wait) }),
  }
}

/** Returns the wait. `respond-async` means no wait, unless `wait` is given too (RFC 7240 §4.3). */
export const waitMsOf = ({ waitSeconds, respondAsync }: Preferences): number | undefined =>
  waitSeconds === undefined ? (respondAsync ? 0 : undefined) : waitSeconds * 1_000

/**
 * Returns the `Preference-Applied` header. `respond-async` was applied if the answer has no
 * response. `wait` was applied if the service allows a wait of that length.
 */
export function appliedOf(
  { waitSeconds, respondAsync }: Preferences,
  { maxWaitMs, isAsync }: { maxWaitMs: number; isAsync: boolean },
) {
  const applied = []
  if (respondAsync && isAsync) applied.push('respond-async')
  if (waitSeconds !== undefined && waitSeconds * 1_000 <= maxWaitMs)
    applied.push(`wait=${waitSeconds}`)
  return applied.length === 0 ? undefined : { 'Preference-Applied': applied.join(', ') }
}

const unquoted = (value: string): string => (/^".*"$/.test(value) ? value.slice(1, -1) : value)

/** Splits at `separator`, except inside a quoted string. */
function splitUnquoted(text: string, separator: string): string[] {
  const parts = ['']
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === separator && !isQuoted) {
      parts.push('')
      continue
    }
    if (character === '"') isQuoted = !isQuoted
    parts[parts.length - 1] += character
    if (character === '\\' && isQuoted) parts[parts.length - 1] += text.charAt(++at)
  }
  return parts
}
