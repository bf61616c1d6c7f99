import Database from 'better-sqlite3'
import type { Unavailable } from '@org/agent-messaging-core/storage'
import { existsSync } from 'node:fs'
import { requireFittingDriver } from './driver-check.js'
import { explainOpenFailure, isDamage } from './open-error.js'
import { unavailable, unavailableBecause } from './unavailable.js'

type Check = 'quick_check' | 'integrity_check'

/** What SQLite finds wrong first with the file at `path`, which may be in use; undefined when nothing is. Throws `SqliteOpenError`. */
export function findSqliteDamage(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  try {
    requireFittingDriver()
    return damageOf(path, 'quick_check')
  } catch (error) {
    throw explainOpenFailure(path, error)
  }
}

/** `quick_check` counts the entries of each index; `integrity_check` compares every one with its row, in several times the time. */
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

/** Remembers that an open file was found damaged: nothing mends it as long as it is open. */
export type DamageWatch = {
  readonly found: () => Unavailable | undefined
  readonly explain: (error: unknown) => Unavailable
}

/** `tell` is called at the first damage, with the sentence for the operator. */
export function watchForDamage(path: string, tell: (sentence: string) => void): DamageWatch {
  let found: Unavailable | undefined
  const remember = (error: Error): Unavailable => {
    found = unavailable(explainOpenFailure(path, error).message)
    tell(found.reason)
    return found
  }
  return {
    found: () => found,
    explain: (error) => (isDamage(error) ? (found ?? remember(error)) : unavailableBecause(error)),
  }
}
