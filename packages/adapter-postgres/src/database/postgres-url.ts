import { PostgresOpenError } from './open-error.js'

/** One URL per host, in the form that the driver knows, and which of the hosts fits. */
export type Hosts = { readonly urls: readonly string[]; readonly needsWrites: boolean }

const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)([^?#]*)(?:\?([^#]*))?/
const TARGET = 'target_session_attrs='

/**
 * Splits a URL such as `postgres://a:5432,b:5432/db?target_session_attrs=read-write`. Throws a
 * `PostgresOpenError` if the target is unknown.
 */
export function splitPostgresUrl(url: string): Hosts {
  const [, start = '', hosts = '', path = '', query] = PARTS.exec(url) ?? []
  const parameters = query === undefined ? [] : query.split('&')
  const target = parameters.findLast((one) => one.startsWith(TARGET))?.slice(TARGET.length)
  if (target === undefined && !hosts.includes(',')) return { urls: [url], needsWrites: false }
  if (target !== undefined && target !== 'any' && target !== 'read-write')
    throw new PostgresOpenError(
      `target_session_attrs is ${JSON.stringify(target)}; use any or read-write.`,
    )
  const others = parameters.filter((one) => !one.startsWith(TARGET)).join('&')
  const rest = path + (others === '' ? '' : `?${others}`)
  return {
    urls: hosts.split(',').map((host) => start + host + rest),
    needsWrites: target === 'read-write',
  }
}

/** The options of a `PostgresClient` for a URL. Throws a `PostgresOpenError`. */
export function connectionTo(url: string): Hosts & { readonly connectionString: string } {
  const hosts = splitPostgresUrl(url)
  return { ...hosts, connectionString: hosts.urls[0] ?? url }
}
