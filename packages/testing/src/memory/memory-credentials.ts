import type { ApiKey, AuditEntry, Instant, Project, Page } from '@org/agent-messaging-core'
import {
  NO_PROJECT,
  NO_ROW,
  ENDED_SIGN_IN,
  toIso,
  hasLimits,
  type CredentialStore,
  type ProjectChange,
  type SignIn,
  type PageOf,
} from '@org/agent-messaging-core/storage'
import type { Immediate, Memory } from './memory.js'
import { recorded } from './memory-audit.js'
import { newestFirst, oldestFirst } from './memory-page.js'

export class MemoryCredentials implements Immediate<CredentialStore> {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  createProject(
    project: Project,
    audit?: AuditEntry,
  ): 'created' | { readonly kind: 'external_id_taken'; readonly project: Project } {
    const { externalId } = project
    const there = externalId === undefined ? undefined : this.findProject(externalId)
    if (there && there.id !== project.id) return { kind: 'external_id_taken', project: there }
    this.#memory.projects.set(project.id, project)
    return recorded(this.#memory, audit, 'created', project)
  }

  updateProject(
    id: string,
    { sendLimits }: ProjectChange,
    audit?: AuditEntry,
  ): Project | undefined {
    const before = this.#memory.projects.get(id)
    if (!before) return undefined
    const { sendLimits: _, ...facts } = before
    const after = hasLimits(sendLimits) ? { ...facts, sendLimits } : facts
    this.#memory.projects.set(id, after)
    return recorded(this.#memory, audit, after, after, before)
  }

  getProject(id: string): Project | undefined {
    return this.#memory.projects.get(id)
  }

  findProject(externalId: string): Project | undefined {
    return [...this.#memory.projects.values()].find((one) => one.externalId === externalId)
  }

  listProjects(page: PageOf): Page<Project> {
    return oldestFirst([...this.#memory.projects.values()], page)
  }

  createKey(
    key: ApiKey,
    digest: string,
    limit: number,
    audit?: AuditEntry,
  ): 'created' | 'digest_taken' | 'project_not_found' | 'limit_reached' {
    const { apiKeys, projects } = this.#memory
    if (apiKeys.has(key.id)) return 'created'
    if (key.projectId !== NO_PROJECT && !projects.has(key.projectId)) return 'project_not_found'
    if (this.findByDigest(digest)) return 'digest_taken'
    if (this.#countValid(key.projectId, key.createdAt) >= limit) return 'limit_reached'
    apiKeys.set(key.id, { key, digest })
    return recorded(this.#memory, audit, 'created', key, NO_ROW)
  }

  findByDigest(digest: string): ApiKey | undefined {
    return [...this.#memory.apiKeys.values()].find((row) => row.digest === digest)?.key
  }

  listKeys(projectId: string, page: PageOf): Page<ApiKey> {
    return newestFirst(this.#keysOf(projectId), page)
  }

  revokeKey(
    projectId: string,
    id: string,
    now: Instant,
    audit?: AuditEntry,
  ): 'revoked' | 'already_revoked' | undefined {
    const row = this.#memory.apiKeys.get(id)
    if (row?.key.projectId !== projectId) return undefined
    if (row.key.revokedAt !== undefined) return 'already_revoked'
    row.key = { ...row.key, revokedAt: now }
    return recorded(this.#memory, audit, 'revoked', row.key)
  }

  endSignIn({ id, until }: SignIn, now: Instant): void {
    const { settings } = this.#memory
    for (const [name, end] of settings)
      if (name.startsWith(ENDED_SIGN_IN) && end <= toIso(now)) settings.delete(name)
    settings.set(ENDED_SIGN_IN + id, toIso(until))
  }

  readSetting(name: string): string | undefined {
    return this.#memory.settings.get(name)
  }

  replaceSetting(name: string, from: string | undefined, to: string): boolean {
    const isFrom = this.#memory.settings.get(name) === from
    if (isFrom) this.#memory.settings.set(name, to)
    return isFrom
  }

  #keysOf(projectId: string): ApiKey[] {
    const keys = [...this.#memory.apiKeys.values()].map(({ key }) => key)
    return keys.filter((key) => key.projectId === projectId)
  }

  #countValid(projectId: string, now: Instant): number {
    return this.#keysOf(projectId).filter(
      ({ revokedAt, expiresAt = Infinity }) => revokedAt === undefined && expiresAt > now,
    ).length
  }
}
