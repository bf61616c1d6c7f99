import { defaultPolicy } from '@org/agent-messaging-core'
import { backupSqlite, SqliteOpenError } from '@org/agent-messaging-sqlite'
import type { Command } from 'commander'
import { isPostgresUrl, shownDatabase } from '../database-url.js'
import { loadConfig } from '../load-config.js'
import { openDatabase } from '../open-database.js'
import { OperatorError } from '../operator-error.js'
import { schemaVersion } from '../schema-version.js'
import { quoted, shellWord } from '../shell-word.js'
import { databaseOf } from './admin.js'
import { example, jsonOption } from './options.js'
import { print, progress } from './output.js'

type Json = { readonly json?: true }

export function addUpkeep(program: Command): void {
  program
    .command('migrate')
    .description('bring the schema of the database up to date, as every start does too, and say what was done')
    .addOption(jsonOption())
    .addHelpText('after', example('SERVICE_DATABASE_URL=file:data.db agent-messaging migrate', 'agent-messaging migrate --json'))
    .action(({ json }: Json) => migrate(json))

  program
    .command('backup <file>')
    .description('copy the SQLite database to a new file, while it is in use, and check the copy')
    .addOption(jsonOption())
    .addHelpText('after', example('agent-messaging backup backups/$(date +%F).db'))
    .action((file: string, { json }: Json) => backup(file, json))
}

async function migrate(json: true | undefined): Promise<void> {
  const database = databaseOf(loadConfig())
  const { version: from } = await schemaVersion(database)
  // An opened storage is up to date; steps that another process takes meanwhile count as ours.
  const opened = await openDatabase(database, { leaseMs: defaultPolicy.runLeaseMs, onError: () => undefined })
  await opened.close()
  const { version: to } = await schemaVersion(database)
  print(json, { database: shownDatabase(database), from, to }, `${shownDatabase(database)}: ${whatWasDone(from, to)}`)
}

function whatWasDone(from: number, to: number): string {
  if (from === to) return `schema version ${to}, which is up to date; nothing to do.`
  return from === 0 ? `made, with schema version ${to}.` : `brought from schema version ${from} to ${to}.`
}

async function backup(file: string, json: true | undefined): Promise<void> {
  const database = databaseOf(loadConfig())
  if (isPostgresUrl(database)) throw new OperatorError(`PostgreSQL has a program for this: ${dumpCommand(database, file)}`)
  const bar = progress()
  const onProgress = (copied: number, total: number) => bar.show(`Copied ${total === 0 ? 0 : Math.floor((100 * copied) / total)} %…`)
  const bytes = await backupSqlite({ path: database, to: file, onProgress })
    .catch((error: unknown) => {
      throw error instanceof SqliteOpenError ? new OperatorError(error.message) : error
    })
    .finally(() => bar.end())
  print(
    json,
    { database, file, bytes },
    `Copied ${database} to ${file} (${bytes} bytes), and checked the copy. Keep SERVICE_MASTER_KEY apart from it: without the key its secrets cannot be read.`,
  )
}

/** Asks for the password, for that must not be on a screen. */
const dumpCommand = (database: string, file: string): string =>
  `pg_dump --format=custom --schema=agent_messaging --file=${shellWord(file)} ${quoted(shownDatabase(database))}`
