import type { ClientBase } from 'pg'
import { PostgresOpenError } from '../database/open-error.js'

const OLDEST_VERSION = 15
/** Newer versions are not refused. */
const NEWEST_TESTED = 18

type Settings = {
  readonly version: number
  readonly version_text: string
  readonly encoding: string
  readonly synchronous_commit: string
  readonly is_standby: boolean
}

/** Refuses a server on which the guarantees of this service would not hold. */
export async function requireFittingServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<Settings>(`
    select current_setting('server_version_num')::int / 10000 as version,
      current_setting('server_version') as version_text,
      current_setting('server_encoding') as encoding,
      current_setting('synchronous_commit') as synchronous_commit,
      pg_is_in_recovery() as is_standby`)
  const problem = rows[0] && problemOf(rows[0])
  if (problem !== undefined) throw new PostgresOpenError(problem)
}

function problemOf({
  version,
  version_text: text,
  encoding,
  synchronous_commit: commit,
  is_standby: isStandby,
}: Settings) {
  if (version < OLDEST_VERSION)
    return `is PostgreSQL ${text}; use PostgreSQL ${OLDEST_VERSION} to ${NEWEST_TESTED}.`
  if (encoding !== 'UTF8')
    return `is encoded as ${encoding}; create the database with encoding 'UTF8'.`
  if (isStandby) return 'is a standby; use the URL of the primary.'
  // A crash would lose messages that were answered with 200.
  if (commit === 'off')
    return 'synchronous_commit is off here; turn it on for this user or this database.'
  return undefined
}
