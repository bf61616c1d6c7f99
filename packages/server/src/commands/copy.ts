import { masterKeyProblemOfCopy, type Crypto } from '@org/agent-messaging-core/runtime'
import { readSqliteTables, type SqliteTable } from '@org/agent-messaging-sqlite'
import type { Command } from 'commander'
import { configuredCrypto, masterKeyLocation } from '../settings/dev-files.js'
import { loadConfig } from '../settings/load-config.js'
import { OperatorError } from '../operator-error.js'
import { isPostgresUrl } from '@org/agent-messaging-node/wiring'
import { shownDatabase } from '../urls.js'
import { databaseOf } from './admin.js'
import { addCommand } from './command.js'
import { interruptible } from './interruptible.js'
import { jsonOption } from './options.js'
import { KEY_UNCHECKED } from './master-key-note.js'
import { print, progress } from './output.js'

type Json = { readonly json?: true }

export function addCopy(program: Command): void {
  addCommand(
    program,
    'copy',
    'copy the SQLite database of a stopped server to PostgreSQL',
    ['agent-messaging copy postgres://messages@db.internal/messages'],
    NOTES,
  )
    .argument('<postgres-url>', 'an empty database, or one without schema agent_messaging')
    .addOption(jsonOption())
    .action((url: string, { json }: Json) => copy(url, json))
}

const NOTES = `
The password can be in PGPASSWORD or in ~/.pgpass. The SQLite file is not changed. Do not start a
server on the file again, because that server would repeat the open work.
`

async function copy(url: string, json: true | undefined): Promise<void> {
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
  const { fillPostgres } = await import('@org/agent-messaging-postgres')
  const total = tables.reduce((sum, { count }) => sum + count, 0)
  const onProgress = (rows: number) => show(`Copied ${Math.floor((100 * rows) / total)} %…`)
  await fillPostgres({ ...target, tables, onProgress })
  return Object.fromEntries(tables.map(({ name, count }) => [name, count]))
}
