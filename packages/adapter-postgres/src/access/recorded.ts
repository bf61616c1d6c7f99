import { isAuditedChange, type AuditEntry } from '@org/agent-messaging-core/storage'
import { record } from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/database.js'
import { perform } from '../database/operations.js'

/**
 * Adds the entry in the transaction of `change` if the result is that of a change. Returns the
 * result.
 */
export async function recorded<T>(
  db: Queries,
  audit: AuditEntry | undefined,
  change: T | Promise<T>,
): Promise<T> {
  const result = await change
  if (isAuditedChange(result)) await perform(db, record, audit)
  return result
}
