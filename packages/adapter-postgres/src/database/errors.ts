import type { Unavailable } from '@org/agent-messaging-core'
import type { PostgresClient } from './postgres-client.js'
import { PostgresOpenError } from './open-error.js'

/** SQLSTATE: a lock was not released within `lock_timeout`. */
export const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Returns PostgreSQL's SQLSTATE or the network's error code. Checks the shape of the error and not
 * its class, because a host's pool can come from another copy of `pg`.
 */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined

export const unavailable = (reason: string): Unavailable => ({ kind: 'unavailable', reason })

/** PostgreSQL's messages name tables and constraints. Its `detail` has values and is left out. */
export function unavailableBecause(error: unknown): Unavailable {
  // A JSON parser quotes the text that it failed on, which can be confidential.
  if (error instanceof SyntaxError) return unavailable('SyntaxError: a stored text is not JSON')
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : String(error)
  return unavailable(code === undefined ? message : `${code}: ${message}`)
}

/** The database's address without the password. */
export const placeOf = ({ hosts, database }: PostgresClient): string =>
  `postgres://${hosts.join(',')}/${database ?? ''}`

/** Explains to the operator why the database at `place` could not be opened. */
export const explainOpenFailure = (place: string, cause: unknown): PostgresOpenError =>
  new PostgresOpenError(
    `${place}: ${cause instanceof PostgresOpenError ? cause.message : explain(cause)}`,
  )

function explain(cause: unknown): string {
  const code = codeOf(cause) ?? ''
  const message = cause instanceof Error ? cause.message : ''
  const known = EXPLANATIONS[code]
  if (known !== undefined) return known
  if (code === '42501') return `this user lacks a right (${message}); ${RIGHTS}`
  if (/CERT|SIGNATURE/.test(code))
    return `its certificate is not trusted (${message}); add the issuer to the URL: ?sslrootcert=<file>.`
  // Only messages of PostgreSQL and of the network. A message of the driver can quote the URL.
  if (/^[0-9A-Z]{5}$|^E(?!RR_)[A-Z_]+$/.test(code)) return `cannot be opened (${code}: ${message}).`
  if (message.startsWith('timeout'))
    return 'does not answer; check that PostgreSQL runs and that this machine can reach it.'
  if (message.startsWith('Connection terminated'))
    return 'closes the connection at once; check that PostgreSQL runs behind the proxy or pooler.'
  if (message.includes('SSL')) return `cannot be opened (${message}).`
  return 'cannot be opened; check the URL.'
}

/** For an empty database, and for a schema that another user owns, such as after a restore. */
const RIGHTS =
  'make it the owner of the schema agent_messaging and all objects in it, or grant it CREATE on the database.'

const EXPLANATIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server listens there; check that PostgreSQL runs, and the host and port.',
  ENOTFOUND: 'the host has no address; check its name.',
  '28P01': 'the user or the password is wrong.',
  '28000': 'this user must not connect; see pg_hba.conf.',
  '3D000': 'this database does not exist; create it first.',
  '25006': 'accepts no writes; use the URL of the primary, not of a standby.',
  '53300': 'has no connection left; raise max_connections there, or run fewer processes here.',
  '57P03': 'is starting up or shutting down; try again.',
}
