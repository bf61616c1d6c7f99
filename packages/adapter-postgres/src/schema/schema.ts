import { createHash } from 'node:crypto'
import { functions } from './functions.generated.js'
import { tables } from './tables.js'

/** The database schema of a release. Its version is the number of migrations. */
export type Schema = {
  /** In order: the n-th migration leads from version n-1 to n. A released one never changes. */
  readonly migrations: readonly string[]
  /**
   * The text of each function, by name. A release that changes a text appends a migration, an empty
   * one if no table changes. The process that raises the version then applies the changed texts.
   *
   * A function with other parameters, results or effects gets a new name, because processes of the
   * previous release still call the old one. A later migration drops the old function.
   */
  readonly functions: Readonly<Record<string, string>>
}

export const schema: Schema = { migrations: [tables], functions }

/** Identifies the text of a migration or a function. The database keeps the hash of each. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')
