import type { ClientBase } from 'pg'
import { PostgresOpenError } from './errors.js'

const OLDEST_VERSION = 15
/** Newer versions are not refused. */
const NEWEST_TESTED = 18
/** Processes compare leases with their own clocks, so the clocks must not differ by more. */
const MAX_SKEW_MS = 5_000

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
  await requireSameTime(client)
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

async function requireSameTime(client: ClientBase): Promise<void> {
  const before = Date.now()
  const { rows } = await client.query<{ now: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as now',
  )
  const after = Date.now()
  const theirs = rows[0]?.now ?? before
  // The server read its clock between the two times.
  const skew = theirs < before ? before - theirs : Math.max(0, theirs - after)
  if (skew <= MAX_SKEW_MS) return
  const seconds = Math.round(skew / 1_000)
  const way = theirs < before ? 'behind' : 'ahead of'
  throw new PostgresOpenError(
    `its clock is ${seconds} s ${way} this machine's; synchronize both with NTP.`,
  )
}
