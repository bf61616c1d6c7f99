import type { AuditEntry } from '../domain/audit.js'
import type { Platform } from '../platform.js'
import type { AuditFilter } from '../ports/audit-store.js'
import type { Page, PageOf, Stored } from '../ports/stored.js'

/** Lists changes, newest first. Without `projectId`, those of all projects. */
export const readAuditLog =
  (d: Platform) =>
  (filter: AuditFilter, page: PageOf): Stored<Page<AuditEntry>> =>
    d.storage.audit.list(filter, page)
