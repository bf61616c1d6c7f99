import type { DeliveryAttempt } from '@org/agent-messaging-core'

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Headers that would be wrong or secret in a copy. Secret values are stored as `[redacted]`. */
const isLeftOut = (name: string, value: string): boolean =>
  value.includes('[redacted]') || /signature/i.test(name)

/**
 * Returns a shell command that sends the request of an attempt again, without its secrets: no
 * signature, no custom header, and no part of the URL that can contain a password. Undefined if
 * the parts of the request are not stored.
 */
export function curlOf({ url, requestHeaders }: DeliveryAttempt, body: string): string | undefined {
  if (url === undefined || requestHeaders === undefined) return undefined
  const headers = Object.entries(requestHeaders)
    .filter(([name, value]) => !isLeftOut(name, value))
    .map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
  return [`curl -X POST ${quoted(url)}`, ...headers, `--data-binary ${quoted(body)}`].join(
    ' \\\n  ',
  )
}
