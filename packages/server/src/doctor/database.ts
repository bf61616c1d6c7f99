import { defaultPolicy } from '@org/agent-messaging-core'
import { matchingKey, type Crypto } from '@org/agent-messaging-core/runtime'
import { findSqliteDamage } from '@org/agent-messaging-sqlite'
import { openDatabase, schemaVersion } from '@org/agent-messaging-node/wiring'
import { orFail } from '../operator-error.js'
import { isPostgresUrl } from '@org/agent-messaging-node/wiring'
import { shownDatabase } from '../urls.js'
import { checkBacklog, checkCircuits, checkDeliveries } from './deliveries.js'
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
    await orFail(storage.ping(), 'cannot write to the database')
    const usable = passed('database', `${shownDatabase(database)} is readable and writable`)
    const now = Date.now()
    const deliveries = await orFail(storage.deliveries.backlog(now), 'cannot count the deliveries')
    const messages = await orFail(storage.messages.backlog(now), 'cannot count the messages')
    const findings = [
      usable,
      checkDeliveries(deliveries, now),
      checkCircuits(deliveries),
      checkBacklog({ messages, deliveries }, now),
    ]
    if (!crypto) return findings
    const key = await orFail(matchingKey(storage, crypto), 'cannot read the database')
    return [...findings, masterKeyFinding[key]]
  } finally {
    await close()
  }
}
