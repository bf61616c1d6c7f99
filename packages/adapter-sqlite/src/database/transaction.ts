import type { Database, Statement } from 'better-sqlite3'
import { failure, success, type PortResult } from '@org/agent-messaging-core/runtime'
import { isBusy } from './errors.js'

/** A transaction that fails to begin or to commit says nothing about its operations. */
export type Failure = { readonly step: 'begin' | 'operate' | 'commit'; readonly error: unknown }

/** Changes that the operations of a transaction collect, to write each row once. */
export interface Collected {
  /** Forgets the changes of the transaction before. */
  clear(): void
  /** Writes the changes, in the transaction. */
  write(): void
}

/** Runs operations in write transactions on one connection. */
export class Transactions {
  readonly #db: Database
  readonly #collected: Collected[] = []
  readonly #begin: Statement
  readonly #commit: Statement
  readonly #rollback: Statement

  constructor(db: Database) {
    this.#db = db
    this.#begin = db.prepare('begin immediate')
    this.#commit = db.prepare('commit')
    this.#rollback = db.prepare('rollback')
  }

  /** From now on, each transaction writes these changes before its commit. */
  collect(changes: Collected): void {
    this.#collected.push(changes)
  }

  /** Runs the operations in one transaction. Returns their values, or the step that failed. */
  run(operations: readonly (() => unknown)[]): PortResult<unknown[], Failure> {
    let step: Failure['step'] = 'begin'
    try {
      this.#rollBack() // in case an earlier rollback failed
      this.#begin.run()
      step = 'operate'
      for (const changes of this.#collected) changes.clear()
      const values = operations.map((operation) => operation())
      for (const changes of this.#collected) changes.write()
      step = 'commit'
      this.#commit.run()
      return success(values)
    } catch (error) {
      this.#rollBack()
      return failure({ step, error })
    }
  }

  #rollBack(): void {
    try {
      if (this.#db.inTransaction) this.#rollback.run()
    } catch {
      // The next transaction tries the rollback again, and reports its error if that fails too.
    }
  }
}

/** True if another process was writing. The operations have not run, so they can be tried again. */
export const isPostponed = ({ step, error }: Failure): boolean => step === 'begin' && isBusy(error)
