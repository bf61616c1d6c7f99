import type { Instant } from '../domain/instant.js'
import type { CredentialStore } from '../ports/credential-store.js'
import type { Immediate, Memory } from './memory.js'
import { newestFirst, oldestFirst } from './memory-page.js'

export const memoryCredentials = (memory: Memory): Immediate<CredentialStore> => ({
  createProject(project) {
    memory.projects.set(project.id, project)
  },
  getProject: (id) => memory.projects.get(id),
  listProjects: (page) => oldestFirst([...memory.projects.values()], page),

  createKey(key, digest, limit) {
    if (memory.apiKeys.has(key.id)) return 'created'
    if (!memory.projects.has(key.projectId)) return 'project_not_found'
    if ([...memory.apiKeys.values()].some((other) => other.digest === digest)) return 'digest_taken'
    if (goodKeysOf(memory, key.projectId, key.createdAt) >= limit) return 'limit_reached'
    memory.apiKeys.set(key.id, { key, digest })
    return 'created'
  },

  findByDigest: (digest) => [...memory.apiKeys.values()].find((row) => row.digest === digest)?.key,

  listKeys(projectId, page) {
    const keys = [...memory.apiKeys.values()].map(({ key }) => key)
    return newestFirst(
      keys.filter((key) => key.projectId === projectId),
      page,
    )
  },

  revokeKey(projectId, id, now) {
    const row = memory.apiKeys.get(id)
    if (row?.key.projectId !== projectId) return false
    row.key = { revokedAt: now, ...row.key } // a second revocation leaves the first one's time
    return true
  },

  endSignIn({ id, until }, now) {
    for (const [ended, end] of memory.endedSignIns)
      if (end <= now) memory.endedSignIns.delete(ended)
    memory.endedSignIns.set(id, until)
  },
  isSignInEnded: (id) => memory.endedSignIns.has(id),

  readSetting: (name) => memory.settings.get(name),

  initSetting(name, value) {
    const held = memory.settings.get(name) ?? value
    memory.settings.set(name, held)
    return held
  },

  replaceSetting(name, from, to) {
    const isFrom = memory.settings.get(name) === from
    if (isFrom) memory.settings.set(name, to)
    return isFrom
  },
})

const goodKeysOf = ({ apiKeys }: Memory, projectId: string, now: Instant): number =>
  [...apiKeys.values()].filter(
    ({ key }) =>
      key.projectId === projectId &&
      key.revokedAt === undefined &&
      (key.expiresAt ?? Infinity) > now,
  ).length
