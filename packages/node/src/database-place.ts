import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isPostgresUrl } from './open-database.js'
import { readOrCreateText } from './private-files.js'
import { SetupError } from './setup-error.js'

const KEY_BYTES = 32

/** The path of a `file:` URL; `:memory:` and PostgreSQL URLs stay as they are. */
export function databasePathOf(database: string): string {
  if (isPostgresUrl(database) || database === ':memory:') return database
  if (database.startsWith('file:///')) return fileURLToPath(database)
  if (/^file:[^/]|^file:\/[^/]/.test(database))
    return decodeURIComponent(database.slice('file:'.length))
  throw new SetupError(
    `database is ${JSON.stringify(shown(database))}; use file:<path>, :memory: or postgres://…`,
    2,
  )
}

/** A URL that is not ours can contain a password. */
const shown = (database: string) => database.replace(/\/\/[^@/]*@/, '//…@')

/** The given master key, or the one in the file beside the database, created with the database. */
export function masterKeyOf(
  given: Uint8Array | string | undefined,
  databasePath: string,
): Uint8Array {
  if (given !== undefined) return decoded(given, 'masterKey')
  if (databasePath === ':memory:') return randomBytes(KEY_BYTES)
  if (isPostgresUrl(databasePath))
    throw new SetupError(
      'masterKey is required for a PostgreSQL database: 32 random bytes that you keep',
      2,
    )
  const file = `${databasePath}.key`
  const isInUse = existsSync(databasePath) && statSync(databasePath).size > 0
  if (isInUse && !existsSync(file))
    throw new SetupError(
      `${file} is missing, but ${databasePath} is encrypted with a master key; restore the file, or pass masterKey`,
      2,
    )
  return decoded(
    readOrCreateText(file, () => randomBytes(KEY_BYTES).toString('base64')),
    file,
  )
}

function decoded(key: Uint8Array | string, name: string): Uint8Array {
  const bytes = typeof key === 'string' ? bytesOf(key) : key
  if (bytes.length === KEY_BYTES) return bytes
  throw new SetupError(
    `${name} has ${bytes.length} bytes; it must have ${KEY_BYTES}, as base64 or hex if it is text`,
    2,
  )
}

const bytesOf = (text: string): Uint8Array =>
  Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64')
