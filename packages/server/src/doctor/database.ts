import { defaultPolicy } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'
import {
  HOLD_CAUSES,
  STATS_STEPS,
  matchingKey,
  type Backlog,
  type HoldCause,
} from '@org/agent-messaging-core/host'
import type { Storage } from '@org/agent-messaging-core/storage'
import { findSqliteDamage } from '@org/agent-messaging-adapter-sqlite'
import {
  allPages,
  valueOf,
  openDatabase,
  schemaVersion,
  isPostgresUrl,
} from '@org/agent-messaging-node/wiring'
import { orFail } from '../operator-error.js'
import { shownDatabase } from '../urls.js'
import { failed, passed, warning, type Finding } from './finding.js'
import { checkDisk, checkDriver, checkDurability } from './machine.js'

/** Checks the database without migrating an outdated schema. */
export async function checkDatabase(
  database: string,
  crypto: Crypto | undefined,
): Promise<Finding[]> {
  const isFile = !isPostgresUrl(database)
  const machine = isFile
    ? [await checkDriver(), await checkDurability(database), await checkDisk(database)]
    : []
  try {
    const damage = isFile ? checkFile(database) : []
    return [...machine, ...(damage.length > 0 ? damage : await checkSchema(database, crypto))]
  } catch (error) {
    const fix = 'Fix this first. A server cannot start on this database.'
    return [...machine, failed('database', (error as Error).message, fix)]
  }
}

/** Empty if the file is intact. */
function checkFile(file: string) {
  const damage = findSqliteDamage(file)
  if (damage === undefined) return []
  const fix = 'Stop the server and restore a backup: agent-messaging restore <backup>.'
  return [failed('database', `${file} is a damaged SQLite database (${damage})`, fix)]
}

async function checkSchema(database: string, crypto: Crypto | undefined): Promise<Finding[]> {
  const { version, newest, worksFrom } = await schemaVersion(database)
  const name = shownDatabase(database)
  if (version === 0)
    return [
      warning(
        'database',
        `${name} is empty`,
        'The first start creates the tables. So does agent-messaging migrate.',
      ),
    ]
  const current = `${name} has schema version ${version}`
  if (version < newest)
    return [
      warning(
        'migrations',
        `${current}; the newest is ${newest}`,
        'The next start migrates the database. So does agent-messaging migrate.',
      ),
    ]
  if (worksFrom > newest)
    return [
      failed(
        'migrations',
        `${current}, but this release supports only ${newest}`,
        'Install a newer release.',
      ),
    ]
  const state =
    version > newest ? 'is of a newer release, and this one works with it' : 'is up to date'
  return [
    passed('migrations', `schema version ${version} ${state}`),
    ...(await checkUse(database, crypto)),
  ]
}

const masterKeyFinding: Readonly<Record<'master key' | 'other key' | 'none', Finding>> = {
  'master key': passed('master key', 'matches this database'),
  'other key': warning(
    'master key',
    'only a key in SERVICE_OTHER_MASTER_KEYS matches this database',
    'Encrypt all secrets with SERVICE_MASTER_KEY: agent-messaging reseal.',
  ),
  none: failed(
    'master key',
    'does not match this database',
    'Set SERVICE_MASTER_KEY to the key that encrypted this database.',
  ),
}

async function checkUse(database: string, crypto: Crypto | undefined): Promise<Finding[]> {
  const { storage, close } = await openDatabase(database, {
    leaseMs: defaultPolicy.runLeaseMs,
    onError: () => undefined,
  })
  try {
    await orFail(valueOf(storage.ping()), 'cannot write to the database')
    const usable = passed('database', `${shownDatabase(database)} is readable and writable`)
    const now = Date.now()
    const deliveries = await orFail(
      valueOf(storage.deliveries.backlog(now)),
      'cannot count the deliveries',
    )
    const messages = await orFail(
      valueOf(storage.messages.backlog(now)),
      'cannot count the messages',
    )
    const findings = [
      usable,
      checkDeliveries(deliveries, now),
      checkCircuits(deliveries),
      checkBacklog({ messages, deliveries }, now),
      checkFailures(await countLastHour(storage, now)),
    ]
    if (!crypto) return findings
    const key = await orFail(valueOf(matchingKey(storage, crypto)), 'cannot read the database')
    return [...findings, masterKeyFinding[key]]
  } finally {
    await close()
  }
}

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** The other causes end without an operator. */
const NEEDS_OPERATOR: readonly HoldCause[] = ['disabled', 'paused', 'circuit']

/** Warns of due deliveries that wait until their receiver works again, or a person acts. */
export function checkDeliveries({ due, held }: Backlog['deliveries'], now: number): Finding {
  const causes = HOLD_CAUSES.flatMap((cause) => {
    const { count, oldestAt = now } = held[cause]
    return count > 0 ? [`${cause}: ${count}, the oldest for ${shownTime(now - oldestAt)}`] : []
  })
  const heldCount = HOLD_CAUSES.reduce((sum, cause) => sum + held[cause].count, 0)
  const text = `${due} due, ${heldCount} held${causes.length > 0 ? ` (${causes.join('; ')})` : ''}`
  return NEEDS_OPERATOR.every((cause) => held[cause].count === 0)
    ? passed('deliveries', text)
    : warning('deliveries', text, 'See the health of the webhooks: agent-messaging webhooks list.')
}

function shownTime(ms: number) {
  if (ms >= HOUR_MS) return `${Math.floor(ms / HOUR_MS)} h`
  return ms >= MINUTE_MS ? `${Math.floor(ms / MINUTE_MS)} min` : `${Math.floor(ms / 1_000)} s`
}

/** Warns of webhooks that nothing or only a probe is sent to, because their receivers fail. */
export function checkCircuits({
  openCircuits,
  halfOpenCircuits,
}: Pick<Backlog['deliveries'], 'openCircuits' | 'halfOpenCircuits'>): Finding {
  return openCircuits + halfOpenCircuits === 0
    ? passed('circuits', 'all are closed')
    : warning(
        'circuits',
        `${openCircuits} open, ${halfOpenCircuits} half-open`,
        'The receivers fail. To see which, run: agent-messaging webhooks list.',
      )
}

/** A server that keeps up starts due work within seconds. */
const MOST_LAG_MINUTES = 5

/** Warns of messages and deliveries that have been due for minutes: more arrive than leave. */
export function checkBacklog(
  {
    messages,
    deliveries,
  }: {
    readonly messages: Pick<Backlog['messages'], 'oldestDueAt'>
    readonly deliveries: Pick<Backlog['deliveries'], 'oldestDueAt'>
  },
  now: number,
): Finding {
  const late = Object.entries({ message: messages, delivery: deliveries }).flatMap(
    ([name, { oldestDueAt = now }]) => {
      const minutes = Math.floor((now - oldestDueAt) / MINUTE_MS)
      return minutes >= MOST_LAG_MINUTES
        ? [`the oldest ${name} has been due for ${minutes} min`]
        : []
    },
  )
  return late.length === 0
    ? passed('backlog', 'no work has waited for minutes')
    : warning(
        'backlog',
        late.join(', and '),
        'Start a server. If one runs, it does not keep up: see docs/operations.md.',
      )
}

type Ends = { readonly answered: number; readonly failed: number }

/** Counts the ends of messages of all projects, in the 12 steps of five minutes until now. */
async function countLastHour({ counts, credentials }: Storage, now: number): Promise<Ends> {
  const projects = await allPages(
    (page) => valueOf(credentials.listProjects(page)),
    'cannot list the projects',
  )
  const stepMs = STATS_STEPS['5m'].ms
  const ends = { answered: 0, failed: 0 }
  for (const { id: projectId } of projects) {
    const asked = { projectId, subject: 'project', stepMs, from: now - HOUR_MS, to: now } as const
    for (const row of await orFail(valueOf(counts.read(asked)), 'cannot read the counts')) {
      ends.answered += row.counts.answered ?? 0
      ends.failed += row.counts.failed ?? 0
    }
  }
  return ends
}

/** Warns of messages that failed in the last hour. */
export function checkFailures({ answered, failed }: Ends): Finding {
  const text = `${answered} answered and ${failed} failed in the last hour`
  return failed === 0
    ? passed('messages', text)
    : warning('messages', text, 'To see why, run: agent-messaging messages list --state failed.')
}
