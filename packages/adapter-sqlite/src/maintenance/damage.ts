import { fullDiskOf } from '@org/agent-messaging-core/node'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { Unavailable } from '@org/agent-messaging-core'
import { requireFittingNode } from '../schema/require-node.js'
import {
  damageReport,
  explainOpenFailure,
  isDamage,
  isDiskFull,
  unavailable,
  unavailableBecause,
} from '../database/errors.js'
import { trueName } from '../database/liveness.js'

type Check = 'quick_check' | 'integrity_check'

/**
 * Returns the first damage that SQLite finds in the file, or undefined. The file can be in use.
 * Throws `SqliteOpenError`.
 */
export function findSqliteDamage(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  try {
    requireFittingNode()
    return damageOf(path, 'quick_check')
  } catch (error) {
    throw explainOpenFailure(path, error)
  }
}

/**
 * `quick_check` counts the entries of each index. `integrity_check` compares each entry with its
 * row, which takes several times as long.
 */
export function damageOf(path: string, check: Check): string | undefined {
  const db = new Database(path, { readonly: true })
  try {
    const found = String(db.pragma(`${check}(1)`, { simple: true }))
    return found === 'ok' ? undefined : found.split('\n').find((line) => !line.startsWith('*** '))
  } catch (error) {
    if (isDamage(error)) return error.message
    throw error
  } finally {
    db.close()
  }
}

/** The name of the file that marks a database as damaged. */
export const damageMark = (path: string): string => `${trueName(path)}-damaged`

/**
 * Remembers that a file is damaged. A mark beside the file tells the next start, which checks the
 * whole file before it removes the mark.
 */
export class DamageWatch {
  readonly #path: string
  readonly #onDamage: (sentence: string) => void
  #found: Unavailable | undefined

  /** `onDamage` is called at the first damage, with a sentence for the operator. */
  constructor(path: string, onDamage: (sentence: string) => void) {
    this.#path = path
    this.#onDamage = onDamage
    if (path !== ':memory:' && existsSync(damageMark(path))) this.#checkMarkedFile()
  }

  get found(): Unavailable | undefined {
    return this.#found
  }

  /** Describes an error to the caller. An error that reports damage is remembered. */
  readonly explain = (error: unknown): Unavailable => {
    if (isDiskFull(error)) return unavailable(fullDiskOf(this.#path))
    if (!isDamage(error)) return unavailableBecause(error)
    if (this.#found) return this.#found
    this.#mark()
    return this.#report(damageReport(error))
  }

  #checkMarkedFile(): void {
    const damage = damageOf(this.#path, 'integrity_check')
    if (damage === undefined) rmSync(damageMark(this.#path), { force: true })
    else this.#report(`is a damaged SQLite database (${damage}); restore it from a backup.`)
  }

  #report(sentence: string): Unavailable {
    this.#found = unavailable(`${this.#path}: ${sentence}`)
    this.#onDamage(this.#found.reason)
    return this.#found
  }

  #mark(): void {
    try {
      writeFileSync(damageMark(this.#path), '', { mode: 0o600 })
    } catch {
      // A disk that accepts no file: the next operation on the damaged page reports it again.
    }
  }
}
