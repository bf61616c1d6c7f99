import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { defaultPolicy } from '@org/agent-messaging-core'
import { backupSqlite, restoreSqlite } from '@org/agent-messaging-sqlite'
import type { Command } from 'commander'
import { configuredCrypto, devFiles, masterKeyLocation } from '../settings/dev-files.js'
import { loadConfig } from '../settings/load-config.js'
import { masterKeyProblemOfCopy } from '@org/agent-messaging-core/runtime'
import { openDatabase, schemaVersion } from '@org/agent-messaging-node/wiring'
import { OperatorError } from '../operator-error.js'
import { quoted, shellWord } from '../terminal.js'
import { isPostgresUrl } from '@org/agent-messaging-node/wiring'
import { shownDatabase } from '../urls.js'
import { databaseOf } from './admin.js'
import { interruptible } from './interruptible.js'
import { KEY_UNCHECKED } from './master-key-note.js'
import { addCommand } from './command.js'
import { jsonOption } from './options.js'
import { print, progress } from './output.js'

type Json = { readonly json?: true }

export function addUpkeep(program: Command): void {
  addCommand(program, 'migrate', 'update the database schema, as every server start does', [
    'SERVICE_DATABASE_URL=file:data.db agent-messaging migrate',
    'agent-messaging migrate --json',
  ])
    .addOption(jsonOption())
    .action(({ json }: Json) => migrate(json))

  addCommand(
    program,
    'backup <file>',
    'copy the SQLite database to a new file and check the copy',
    ['agent-messaging backup backups/$(date +%F).db'],
  )
    .addOption(jsonOption())
    .action((file: string, { json }: Json) => backup(file, json))

  addCommand(
    program,
    'restore <file>',
    'replace the SQLite database of a stopped server with a backup',
    ['agent-messaging restore backups/2030-01-31.db'],
    '\nThe replaced database is kept beside the restored one.\n',
  )
    .addOption(jsonOption())
    .action((file: string, { json }: Json) => restore(file, json))
}

async function migrate(json: true | undefined): Promise<void> {
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

async function backup(file: string, json: true | undefined): Promise<void> {
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

async function restore(file: string, json: true | undefined): Promise<void> {
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
