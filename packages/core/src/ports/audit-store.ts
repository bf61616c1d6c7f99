import type { Actor, AuditAction, AuditEntry } from '../domain/access/audit.js'
import type { Page, PageOf, Purge, Stored } from './stored.js'

/** An absent field matches every entry. */
export type AuditFilter = {
  readonly projectId?: string
  /** The change, such as `webhook.updated`. */
  readonly action?: AuditAction
  /** The kind of the actor, such as `key` or `user`. */
  readonly actorKind?: Actor['kind']
  /** The id of the changed row. */
  readonly targetId?: string
}

/**
 * The log of changes. The methods that change a row take the entry as `audit`, and store it in the
 * same commit if they change the row. A repeated call stores its entry once.
 */
export interface AuditStore {
  /** Adds an entry that belongs to no change of a row. */
  add(entry: AuditEntry): Stored<void>
  /** Lists entries, newest first. Without `projectId`, of all projects. */
  list(filter: AuditFilter, page: PageOf): Stored<Page<AuditEntry>>
  /** Deletes entries that were created before `finishedBefore`, oldest first. */
  purge(purge: Purge): Stored<number>
}
