import { codeOf } from './error-code.js'

/** The storage cannot be opened. The message is one sentence for the operator: what is wrong and what to do. It never holds a password. */
export class PostgresOpenError extends Error {
  override readonly name = 'PostgresOpenError'
}

/** What a failure to open the database at `place` means for the operator. */
export function explainOpenFailure(place: string, cause: unknown): PostgresOpenError {
  if (cause instanceof PostgresOpenError) return new PostgresOpenError(`${place}: ${cause.message}`)
  return new PostgresOpenError(`${place}: ${explain(cause)}`)
}

function explain(cause: unknown): string {
  const code = codeOf(cause) ?? ''
  const said = cause instanceof Error ? cause.message : ''
  const words = WORDS[code]
  if (words !== undefined) return words
  if (code === '42501') return `this user lacks a right (${said}); ${RIGHTS}`
  if (/CERT|SIGNATURE/.test(code))
    return `its certificate is not trusted (${said}); name who signed it in the URL, as ?sslrootcert=<file>.`
  // Nothing but PostgreSQL's own words (SQLSTATE) and the network's: a driver's error may quote the URL that it failed on.
  if (/^[0-9A-Z]{5}$|^E(?!RR_)[A-Z_]+$/.test(code)) return `cannot be opened (${code}: ${said}).`
  if (said.startsWith('timeout')) return 'does not answer; see that it is up and can be reached.'
  if (said.startsWith('Connection terminated'))
    return 'ends the connection at once; see that PostgreSQL is up there, behind what answers for it.'
  if (said.includes('SSL')) return `cannot be opened (${said}).`
  return 'cannot be opened; see that the URL is right.'
}

/** Both for a database without anything of ours and for one that somebody else has filled, as a restore by an administrator does. */
const RIGHTS =
  'have it own the schema agent_messaging with all that is in it, or grant it CREATE on the database to make that.'

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there; see that PostgreSQL is up and that host and port are right.',
  ENOTFOUND: 'its host has no address; see that the name is right.',
  '28P01': 'the user or the password is wrong.',
  '28000': 'this user may not connect (see pg_hba.conf).',
  '3D000': 'there is no such database; create it first.',
  '25006': 'is read-only; name the primary, not a standby.',
  '53300': 'has no connection left; raise max_connections there, or have fewer processes here.',
  '57P03': 'is starting up or shutting down; try again.',
}
