import type { ResultAsync } from 'neverthrow'
import type { AuditEntry } from '../domain/audit.js'
import type { Invalid } from '../domain/input-rules.js'
import { ofPage } from '../domain/page-rules.js'
import type { Platform } from '../platform.js'
import type { AuditFilter } from '../ports/audit-store.js'
import type { Page, PageOf, Unavailable } from '../ports/stored.js'

export const readAuditLog =
  (d: Platform) =>
  (filter: AuditFilter, page: PageOf): ResultAsync<Page<AuditEntry>, Unavailable | Invalid> =>
    ofPage(page, (checked) => d.storage.audit.list(filter, checked))
