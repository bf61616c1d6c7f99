import { defaultPolicy } from '@org/agent-messaging-core'
import { type Crypto } from '@org/agent-messaging-core/runtime'
import { findSqliteDamage } from '@org/agent-messaging-sqlite'
import { fitOfMasterKey } from '../bootstrap.js'
import { isPostgresUrl, shownDatabase } from '../database-url.js'
import { openDatabase } from '../open-database.js'
import { orFail } from '../operator-error.js'
import { schemaVersion } from '../schema-version.js'
import { bad, doubtful, good, type Finding } from './finding.js'
import { checkDurability, checkDriver, checkDisk } from './machine.js'

/** All that can be asked of the database; a schema that is behind is left as it is. */
export async function checkDatabase(
  database: string,
  crypto: Crypto | undefined,
): Promise<Finding[]> {
  const place = isPostgresUrl(database)
    ? []
    : [await checkDriver(), await checkDurability(database), await checkDisk(database)]
  try {
    const damaged = isPostgresUrl(database) ? [] : checkFile(database)
    return [...place, ...(damaged.length > 0 ? damaged : await checkSchema(database, crypto))]
  } catch (error) {
    return [
      ...place,
      bad('database', (error as Error).message, 'No server starts on it before that is mended.'),
    ]
  }
}

/** Nothing, or what is wrong with the file. */
function checkFile(file: string): Finding[] {
  const damage = findSqliteDamage(file)
  if (damage === undefined) return []
  const restore = 'Stop the server, and put a backup in its place: agent-messaging restore <copy>.'
  return [bad('database', `${file} is a damaged SQLite database (${damage})`, restore)]
}

async function checkSchema(database: string, crypto: Crypto | undefined): Promise<Finding[]> {
  const { version, newest } = await schemaVersion(database)
  const shown = shownDatabase(database)
  if (version === 0)
    return [
      doubtful(
        'database',
        `there is nothing in ${shown} yet`,
        'The first start makes it, and so does agent-messaging migrate.',
      ),
    ]
  if (version < newest)
    return [
      doubtful(
        'migrations',
        `${shown} has schema version ${version} of ${newest}`,
        'The next start brings it up to date, and so does agent-messaging migrate.',
      ),
    ]
  if (version > newest)
    return [
      bad(
        'migrations',
        `${shown} has schema version ${version}, and this release knows ${newest}`,
        'Install the release again that wrote it.',
      ),
    ]
  return [
    good('migrations', `schema version ${version}, up to date`),
    ...(await checkUse(database, crypto)),
  ]
}

const masterKeyFinding: Readonly<Record<Awaited<ReturnType<typeof fitOfMasterKey>>, Finding>> = {
  'master key': good('master key', 'fits this database'),
  another: doubtful(
    'master key',
    'opens this database by way of SERVICE_OTHER_MASTER_KEYS',
    'Have all encrypted with SERVICE_MASTER_KEY: agent-messaging reseal.',
  ),
  none: bad(
    'master key',
    'is not the one that this database is sealed with',
    'Set SERVICE_MASTER_KEY to that one: its secrets cannot be read with another.',
  ),
}

async function checkUse(database: string, crypto: Crypto | undefined): Promise<Finding[]> {
  const { storage, close } = await openDatabase(database, {
    leaseMs: defaultPolicy.runLeaseMs,
    onError: () => undefined,
  })
  try {
    await orFail(storage.ping(), 'it cannot be written')
    const written = good('database', `${shownDatabase(database)} can be read and written`)
    return crypto ? [written, masterKeyFinding[await fitOfMasterKey(storage, crypto)]] : [written]
  } finally {
    await close()
  }
}
