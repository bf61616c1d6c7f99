import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { defaultPolicy } from '@org/agent-messaging-core'
import { backupSqlite, restoreSqlite } from '@org/agent-messaging-sqlite'
import type { Command } from 'commander'
import { isPostgresUrl, shownDatabase } from '../database-url.js'
import { devFiles, placeOfKey } from '../dev-files.js'
import { loadConfig } from '../load-config.js'
import { openDatabase } from '../open-database.js'
import { OperatorError } from '../operator-error.js'
import { schemaVersion } from '../schema-version.js'
import { quoted, shellWord } from '../shell-word.js'
import { databaseOf } from './admin.js'
import { inWords } from './in-words.js'
import { example, jsonOption } from './options.js'
import { print, progress } from './output.js'

type Json = { readonly json?: true }

export function addUpkeep(program: Command): void {
  program
    .command('migrate')
    .description(
      'bring the schema of the database up to date, as every start does too, and say what was done',
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example(
        'SERVICE_DATABASE_URL=file:data.db agent-messaging migrate',
        'agent-messaging migrate --json',
      ),
    )
    .action(({ json }: Json) => migrate(json))

  program
    .command('backup <file>')
    .description('copy the SQLite database to a new file, while it is in use, and check the copy')
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging backup backups/$(date +%F).db'))
    .action((file: string, { json }: Json) => backup(file, json))

  program
    .command('restore <file>')
    .description(
      'put a backup in the place of the SQLite database, which no server may have open; what was there is kept beside it',
    )
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging restore backups/2030-01-31.db'))
    .action((file: string, { json }: Json) => restore(file, json))
}

async function migrate(json: true | undefined): Promise<void> {
  const database = databaseOf(loadConfig())
  const { version: from } = await schemaVersion(database)
  // An opened storage is up to date; steps that another process takes meanwhile count as ours.
  const opened = await openDatabase(database, {
    leaseMs: defaultPolicy.runLeaseMs,
    onError: () => undefined,
  })
  await opened.close()
  const { version: to } = await schemaVersion(database)
  print(
    json,
    { database: shownDatabase(database), from, to },
    `${shownDatabase(database)}: ${whatWasDone(from, to)}`,
  )
}

function whatWasDone(from: number, to: number): string {
  if (from === to) return `schema version ${to}, which is up to date; nothing to do.`
  return from === 0
    ? `made, with schema version ${to}.`
    : `brought from schema version ${from} to ${to}.`
}

async function backup(file: string, json: true | undefined): Promise<void> {
  const config = loadConfig()
  const database = databaseOf(config)
  if (isPostgresUrl(database))
    throw new OperatorError(`PostgreSQL has a program for this: ${dumpCommand(database, file)}`)
  const bar = progress()
  const onProgress = (copied: number, total: number) =>
    bar.show(`Copied ${total === 0 ? 0 : Math.floor((100 * copied) / total)} %…`)
  mkdirSync(path.dirname(file), { recursive: true })
  const bytes = await inWords((signal) =>
    backupSqlite({ path: database, to: file, onProgress, signal }),
  ).finally(() => bar.end())
  const key = placeOfKey(config)
  print(
    json,
    { database, file, bytes },
    `Copied ${database} to ${file} (${bytes} bytes), and checked the copy. Keep ${key === devFiles.masterKey ? 'a copy of ' : ''}${key} apart from it: without the key its secrets cannot be read.`,
  )
}

async function restore(file: string, json: true | undefined): Promise<void> {
  const config = loadConfig()
  // What dev made here may be what was lost.
  const database = config.databasePath ?? devFiles.database
  if (isPostgresUrl(database))
    throw new OperatorError(`PostgreSQL has a program for this: ${restoreCommand(database, file)}`)
  const suffix = `.replaced-${new Date().toISOString().replaceAll(':', '-')}`
  const { bytes, keptAs } = await inWords((signal) =>
    restoreSqlite({ from: file, path: database, suffix, signal }),
  )
  const kept =
    keptAs === undefined ? '' : ` What was there is kept as ${path.relative('', keptAs)}.`
  print(
    json,
    { database, file, bytes, keptAs: keptAs ?? null },
    `Checked ${file} (${bytes} bytes), and put a copy of it in the place of ${database}.${kept} Start the server again.`,
  )
}

/** Asks for the password, for that must not be on a screen. */
const dumpCommand = (database: string, file: string): string =>
  `pg_dump --format=custom --schema=agent_messaging --file=${shellWord(file)} ${quoted(shownDatabase(database))}`

const restoreCommand = (database: string, file: string): string =>
  `pg_restore --clean --if-exists --dbname=${quoted(shownDatabase(database))} ${shellWord(file)}`
