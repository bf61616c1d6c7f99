import type { AuditEntry, Page } from '@org/agent-messaging-core'
import {
  auditedChange,
  isAuditedChange,
  NO_ROW,
  type AuditedRow,
  type AuditFilter,
  type AuditStore,
  type PageOf,
  type Purge,
} from '@org/agent-messaging-core/storage'
import type { Immediate, Memory } from './memory.js'
import { newestFirst } from './memory-page.js'

/** Adds the entry if the result is that of a change to the row. Returns the result. */
export function recorded<T>(
  { auditLog }: Memory,
  audit: AuditEntry | undefined,
  result: T,
  after: AuditedRow = NO_ROW,
  before?: AuditedRow,
): T {
  if (audit && isAuditedChange(result)) auditLog.set(audit.id, auditedChange(audit, after, before))
  return result
}

export class MemoryAudit implements Immediate<AuditStore> {
  readonly #memory: Memory
  readonly #log: Memory['auditLog']

  constructor(memory: Memory) {
    this.#memory = memory
    this.#log = memory.auditLog
  }

  add(entry: AuditEntry): void {
    recorded(this.#memory, entry, true)
  }

  list(filter: AuditFilter, page: PageOf): Page<AuditEntry> {
    const { projectId, action, actorKind, targetId } = filter
    const matches = (entry: AuditEntry): boolean =>
      (projectId === undefined || entry.projectId === projectId) &&
      (action === undefined || entry.action === action) &&
      (actorKind === undefined || entry.actor.kind === actorKind) &&
      (targetId === undefined || entry.targetId === targetId)
    return newestFirst([...this.#log.values()].filter(matches), page)
  }

  purge({ finishedBefore, limit }: Purge): number {
    const old = [...this.#log.values()].filter(({ createdAt }) => createdAt < finishedBefore)
    const purged = old.sort((a, b) => a.createdAt - b.createdAt).slice(0, limit)
    for (const { id } of purged) this.#log.delete(id)
    return purged.length
  }
}
