import type { ClientBase } from 'pg'
import { PostgresOpenError } from './errors.js'

const OLDEST_VERSION = 15
/** Newer versions are not refused. */
const NEWEST_TESTED = 18
/** Leases are compared with the clocks of all processes: those may not differ by more. */
const MOST_SKEW_MS = 5_000

type Settings = {
  readonly version: number
  readonly version_text: string
  readonly encoding: string
  readonly synchronous_commit: string
  readonly is_standby: boolean
}

/** Refuses a server on which what we promise would not hold. */
export async function requireFittingServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<Settings>(`
    select current_setting('server_version_num')::int / 10000 as version, current_setting('server_version') as version_text,
      current_setting('server_encoding') as encoding, current_setting('synchronous_commit') as synchronous_commit,
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
  if (isStandby) return 'is a standby; name the primary.'
  // What was answered with 200 would be lost in a crash.
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
  // It was read somewhere between the two.
  const skew = theirs < before ? before - theirs : Math.max(0, theirs - after)
  if (skew <= MOST_SKEW_MS) return
  const [size, way] = [Math.round(skew / 1_000), theirs < before ? 'behind' : 'ahead of']
  throw new PostgresOpenError(`its clock is ${size} s ${way} this machine's; have both follow NTP.`)
}
