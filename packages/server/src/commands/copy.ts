import { fillPostgres } from '@org/agent-messaging-postgres'
import { readSqliteTables, type SqliteTable } from '@org/agent-messaging-sqlite'
import { Argument, type Command } from 'commander'
import { isPostgresUrl, shownDatabase } from '../database-url.js'
import { placeOfKey } from '../dev-files.js'
import { loadConfig } from '../load-config.js'
import { OperatorError } from '../operator-error.js'
import { databaseOf } from './admin.js'
import { inWords } from './in-words.js'
import { example, jsonOption } from './options.js'
import { print, progress } from './output.js'

type Json = { readonly json?: true }

export function addCopy(program: Command): void {
  program
    .command('copy')
    .addArgument(
      new Argument(
        '<postgres-url>',
        'a database that is empty, or without the schema agent_messaging',
      ),
    )
    .description(
      'copy all of the SQLite database, which no server may have open, to PostgreSQL, to go on there',
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `${example('agent-messaging copy postgres://messages@db.internal/messages')}${AFTERWARDS}`,
    )
    .action((url: string, { json }: Json) => copy(url, json))
}

const AFTERWARDS = `
The password may be in PGPASSWORD or in ~/.pgpass. The file stays as it is, but do not start a server on it again: what is open in it
would be done twice.\n`

async function copy(url: string, json: true | undefined): Promise<void> {
  const config = loadConfig()
  const database = databaseOf(config)
  if (isPostgresUrl(database))
    throw new OperatorError(
      'SERVICE_DATABASE_URL names PostgreSQL already; it has to name the SQLite file to copy',
      2,
    )
  if (!isPostgresUrl(url))
    throw new OperatorError('where to copy to has to be a postgres:// URL', 2)
  const bar = progress()
  const work = (signal: AbortSignal) =>
    readSqliteTables({
      path: database,
      work: (tables) => copied({ tables, connectionString: url, signal, show: bar.show }),
    })
  const rows = await inWords(work).finally(() => bar.end())
  const to = shownDatabase(url)
  const { projects, messages, deliveries } = rows
  print(
    json,
    { database, to, rows },
    `Copied ${database} to ${to}: ${projects} projects, ${messages} messages, ${deliveries} deliveries, and all that belongs to them.\n` +
      `Start the server with SERVICE_DATABASE_URL set to that URL, with the same master key (${placeOfKey(config)}) and agents, and none on ${database} ` +
      'again: what is open in it would be done twice.',
  )
}

type Copying = {
  readonly tables: readonly SqliteTable[]
  readonly connectionString: string
  readonly signal: AbortSignal
  readonly show: (text: string) => void
}

/** Gives how many rows each table has. */
async function copied({ tables, show, ...to }: Copying): Promise<Readonly<Record<string, number>>> {
  const all = tables.reduce((sum, { count }) => sum + count, 0)
  const onProgress = (rows: number): void => show(`Copied ${Math.floor((100 * rows) / all)} %…`)
  await fillPostgres({ ...to, tables, onProgress })
  return Object.fromEntries(tables.map(({ name, count }) => [name, count]))
}
