import type { AuditEntry, Instant } from '@org/agent-messaging-core'
import {
  NO_ROW,
  canOpen,
  type PortalSession,
  type PortalStore,
} from '@org/agent-messaging-core/storage'
import { ofProject, type Immediate, type Memory } from './memory.js'
import { recorded } from './memory-audit.js'

export class MemoryPortals implements Immediate<PortalStore> {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  create(
    session: PortalSession,
    digest: string,
    limit: number,
    audit?: AuditEntry,
  ): 'created' | 'project_not_found' | 'limit_reached' {
    const { portals, projects } = this.#memory
    if (portals.has(session.id)) return 'created'
    if (!projects.has(session.projectId)) return 'project_not_found'
    for (const [id, row] of portals) if (row.session.until <= session.createdAt) portals.delete(id)
    const others = [...portals.values()].filter((row) => ofProject(row.session, session.projectId))
    if (others.length >= limit) return 'limit_reached'
    portals.set(session.id, { session, digest })
    return recorded(this.#memory, audit, 'created', session, NO_ROW)
  }

  open(digest: string, now: Instant): PortalSession | undefined {
    const row = this.#rowOf(digest)
    if (!row || !canOpen(row.session, now)) return undefined
    return (row.session = { ...row.session, openedAt: now })
  }

  findByDigest(digest: string): PortalSession | undefined {
    return this.#rowOf(digest)?.session
  }

  find(id: string): PortalSession | undefined {
    return this.#memory.portals.get(id)?.session
  }

  end(
    projectId: string,
    id: string,
    now: Instant,
    audit?: AuditEntry,
  ): 'ended' | 'already_ended' | undefined {
    const row = this.#memory.portals.get(id)
    if (row?.session.projectId !== projectId) return undefined
    if (row.session.endedAt !== undefined) return 'already_ended'
    row.session = { ...row.session, endedAt: now }
    return recorded(this.#memory, audit, 'ended', row.session)
  }

  #rowOf(digest: string) {
    return [...this.#memory.portals.values()].find((row) => row.digest === digest)
  }
}
