import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { defaultPolicy } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'
import { masterKeyProblemOfCopy } from '@org/agent-messaging-core/host'
import {
  backupSqlite,
  restoreSqlite,
  SqliteOpenError,
  readSqliteTables,
  type SqliteTable,
} from '@org/agent-messaging-adapter-sqlite'
import type { Command } from 'commander'
import { configuredCrypto, devFiles, masterKeyLocation } from '../settings/dev-files.js'
import { loadConfig } from '../settings/load-config.js'
import { openDatabase, schemaVersion, isPostgresUrl } from '@org/agent-messaging-node/wiring'
import { OperatorError } from '../operator-error.js'
import { quoted, shellWord } from '../terminal.js'
import { shownDatabase } from '../urls.js'
import { databaseOf } from './admin.js'
import { addCommand } from './command.js'
import { jsonOption, type JsonOption } from './options.js'
import { print, progress } from './output.js'

export function addUpkeep(program: Command) {
  addCommand(program, 'migrate', 'update the database schema, as every server start does', [
    'SERVICE_DATABASE_URL=file:data.db agent-messaging migrate',
    'agent-messaging migrate --json',
  ])
    .addOption(jsonOption())
    .action(migrate)

  addCommand(
    program,
    'backup <file>',
    'copy the SQLite database to a new file and check the copy',
    ['agent-messaging backup backups/$(date +%F).db'],
  )
    .addOption(jsonOption())
    .action(backup)

  addCommand(
    program,
    'restore <file>',
    'replace the SQLite database of a stopped server with a backup',
    ['agent-messaging restore backups/2030-01-31.db'],
    '\nThe replaced database is kept beside the restored one.\n',
  )
    .addOption(jsonOption())
    .action(restore)
}

async function migrate({ json }: JsonOption) {
  const database = databaseOf(loadConfig())
  const { version: from } = await schemaVersion(database)
  // Opening migrates. Migrations that another process applies at the same time count as ours.
  const opened = await openDatabase(database, {
    leaseMs: defaultPolicy.runLeaseMs,
    onError: () => undefined,
  })
  await opened.close()
  const { version: to } = await schemaVersion(database)
  const name = shownDatabase(database)
  print(json, { database: name, from, to }, migrated(name, from, to))
}

function migrated(name: string, from: number, to: number) {
  if (from === to) return `${name} is up to date at schema version ${to}.`
  return from === 0
    ? `Created ${name} at schema version ${to}.`
    : `Migrated ${name} from schema version ${from} to ${to}.`
}

async function backup(file: string, { json }: JsonOption) {
  const config = loadConfig()
  const database = databaseOf(config)
  if (isPostgresUrl(database))
    throw new OperatorError(`for PostgreSQL, run: ${dumpCommand(database, file)}`)
  const bar = progress()
  const onProgress = (copied: number, total: number) =>
    bar.show(`Copied ${total === 0 ? 0 : Math.floor((100 * copied) / total)} %…`)
  mkdirSync(path.dirname(file), { recursive: true })
  const bytes = await interruptible((signal) =>
    backupSqlite({ path: database, to: file, onProgress, signal }),
  ).finally(() => bar.end())
  const key = masterKeyLocation(config)
  const copyOfKey = key === devFiles.masterKey ? `a copy of ${key}` : key
  print(
    json,
    { database, file, bytes },
    `Copied ${database} to ${file} (${bytes} bytes) and checked the copy.\nStore ${copyOfKey} in another place. The secrets in the backup are unreadable without it.`,
  )
}

async function restore(file: string, { json }: JsonOption) {
  const config = loadConfig()
  // The database file can be lost, so `dev`'s path is used even if no file exists.
  const database = config.databasePath ?? devFiles.database
  if (isPostgresUrl(database))
    throw new OperatorError(`for PostgreSQL, run: ${restoreCommand(database, file)}`)
  const suffix = `.replaced-${new Date().toISOString().replaceAll(':', '-')}`
  const crypto = configuredCrypto(config)
  const refusalOf = (settings: ReadonlyMap<string, string>) =>
    crypto && masterKeyProblemOfCopy(settings, crypto)
  const { bytes, keptAs } = await interruptible((signal) =>
    restoreSqlite({ from: file, path: database, suffix, refusalOf, signal }),
  )
  const kept =
    keptAs === undefined ? '' : ` The replaced database is now ${path.relative('', keptAs)}.`
  print(
    json,
    { database, file, bytes, keptAs: keptAs ?? null, isMasterKeyChecked: crypto !== undefined },
    `Checked ${file} (${bytes} bytes) and copied it to ${database}.${kept} You can start the server again.${crypto ? '' : `\n${KEY_UNCHECKED}`}`,
  )
}

/** Contains no password. pg_dump asks for it. */
const dumpCommand = (database: string, file: string) =>
  `pg_dump --format=custom --schema=agent_messaging --file=${shellWord(file)} ${quoted(shownDatabase(database))}`

const restoreCommand = (database: string, file: string) =>
  `pg_restore --clean --if-exists --dbname=${quoted(shownDatabase(database))} ${shellWord(file)}`

/** Ends the output of a command that could not compare the master key with the copied data. */
const KEY_UNCHECKED =
  'The master key was not checked, because SERVICE_MASTER_KEY is not set. A server that has another key cannot use the copy.'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs work that a signal can abort. The work cleans up when it is aborted.
 * Then the signal ends the process as usual. A second signal ends it at once.
 * Rejects with an `OperatorError` if a database cannot be opened.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const { signal } = controller
  const abort = (name: NodeJS.Signals) => controller.abort(name)
  for (const name of SIGNALS) process.once(name, abort)
  try {
    return await work(signal)
  } catch (error) {
    // Most commands need no PostgreSQL, and its driver loads slowly.
    const { PostgresOpenError } = await import('@org/agent-messaging-adapter-postgres')
    throw error instanceof SqliteOpenError || error instanceof PostgresOpenError
      ? new OperatorError(error.message)
      : error
  } finally {
    for (const name of SIGNALS) process.off(name, abort)
    if (signal.aborted) process.kill(process.pid, signal.reason as NodeJS.Signals)
  }
}

export function addCopy(program: Command) {
  addCommand(
    program,
    'copy',
    'copy the SQLite database of a stopped server to PostgreSQL',
    ['agent-messaging copy postgres://messages@db.internal/messages'],
    NOTES,
  )
    .argument('<postgres-url>', 'an empty database, or one without schema agent_messaging')
    .addOption(jsonOption())
    .action(copy)
}

const NOTES = `
The password can be in PGPASSWORD or in ~/.pgpass. The SQLite file is not changed. Do not start a
server on the file again, because that server would repeat the open work.
`

async function copy(url: string, { json }: JsonOption) {
  const config = loadConfig()
  const database = databaseOf(config)
  if (isPostgresUrl(database))
    throw new OperatorError('SERVICE_DATABASE_URL must be a SQLite file; got a PostgreSQL URL', 2)
  if (!isPostgresUrl(url))
    throw new OperatorError('the target of the copy must be a postgres:// URL', 2)
  const bar = progress()
  const crypto = configuredCrypto(config)
  const work = (signal: AbortSignal) =>
    readSqliteTables({
      path: database,
      work: (tables) => {
        if (crypto) requireMasterKey(tables, crypto, database)
        return copyTables({ tables, connectionString: url, signal, show: bar.show })
      },
    })
  const rows = await interruptible(work).finally(() => bar.end())
  const to = shownDatabase(url)
  const { projects, messages, deliveries } = rows
  print(
    json,
    { database, to, rows, isMasterKeyChecked: crypto !== undefined },
    `Copied ${database} to ${to}: ${projects} projects, ${messages} messages, ${deliveries} deliveries and all related rows.\n` +
      `Start the server with SERVICE_DATABASE_URL set to that URL and with the same master key (${masterKeyLocation(config)}) and agents.\n` +
      `Do not start a server on ${database} again, because that server would repeat the open work.${crypto ? '' : `\n${KEY_UNCHECKED}`}`,
  )
}

/** Throws before the copy begins if no server could read the copied secrets. */
function requireMasterKey(tables: readonly SqliteTable[], crypto: Crypto, database: string) {
  const { columns = [], rows = [] } = tables.find(({ name }) => name === 'settings') ?? {}
  const [name, value] = [columns.indexOf('name'), columns.indexOf('value')]
  const settings = new Map([...rows].map((row) => [String(row[name]), String(row[value])]))
  const mismatch = masterKeyProblemOfCopy(settings, crypto)
  if (mismatch !== undefined) throw new OperatorError(`${database}: ${mismatch}`, 2)
}

type Copying = {
  readonly tables: readonly SqliteTable[]
  readonly connectionString: string
  readonly signal: AbortSignal
  readonly show: (text: string) => void
}

/** Returns the number of rows of each table. */
async function copyTables({
  tables,
  show,
  ...target
}: Copying): Promise<Readonly<Record<string, number>>> {
  const { fillPostgres } = await import('@org/agent-messaging-adapter-postgres')
  const total = tables.reduce((sum, { count }) => sum + count, 0)
  const onProgress = (rows: number) => show(`Copied ${Math.floor((100 * rows) / total)} %…`)
  await fillPostgres({ ...target, tables, onProgress })
  return Object.fromEntries(tables.map(({ name, count }) => [name, count]))
}
