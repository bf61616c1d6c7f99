import {
  isAuditedChange,
  type AuditEntry,
  type PrincipalStep,
} from '@org/agent-messaging-core/storage'
import { record } from '@org/agent-messaging-sql-kit'
import type { Perform } from '../database/operations.js'

export class AuditRows {
  readonly #perform: Perform

  constructor(perform: Perform) {
    this.#perform = perform
  }

  /**
   * Adds the entry if the result is that of a change. Call it in the commit of the change. Returns
   * the result.
   */
  recorded<T>(audit: AuditEntry | undefined, result: T): T {
    if (isAuditedChange(result)) this.#perform(record, audit)
    return result
  }

  /** Adds the entry if a change of many rows has changed a row. Returns the result. */
  recordedRows<K extends string, T extends { readonly [key in K]: number }>(
    audit: AuditEntry | undefined,
    result: T,
    rows: K,
  ): T {
    this.recorded(audit, result[rows] > 0)
    return result
  }
}

/** The entry of a step that erases. */
export const entryOf = ({ audit, countOnly }: PrincipalStep): AuditEntry | undefined =>
  countOnly ? undefined : audit
