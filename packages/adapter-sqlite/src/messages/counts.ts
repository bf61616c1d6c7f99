import { sumOfCounts, type Count } from '@org/agent-messaging-core/storage'
import type { Database, Statement } from 'better-sqlite3'
import type { Collected } from '../database/transaction.js'

/** Appends the counts of a transaction, as one entry in its commit. */
export class CountEntries implements Collected {
  readonly #append: Statement<[string]>
  readonly #counts: Count[] = []

  constructor(db: Database) {
    this.#append = db.prepare('insert into count_entries (counts) values (?)')
  }

  add(count: Count | undefined): void {
    if (count) this.#counts.push(count)
  }

  clear(): void {
    this.#counts.length = 0
  }

  write(): void {
    if (this.#counts.length > 0) this.#append.run(JSON.stringify(sumOfCounts(this.#counts)))
  }
}
