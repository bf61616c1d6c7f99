import { ok, type ResultAsync } from 'neverthrow'
import { fail } from '../domain/values/fail.js'
import { isExternalId } from '../domain/access/project.js'
import { isUuid } from '../domain/values/input-rules.js'
import type { Platform, Reading } from '../platform.js'
import type { Project } from '../ports/credential-store.js'
import type { Stored, Unavailable } from '../ports/stored.js'
import { chain } from '../pacing/chain.js'

export type ProjectNotFound = { readonly kind: 'project_not_found' }

/** Finds a project by its id or its external id. */
export async function findProject(
  { storage }: Pick<Platform, 'storage'>,
  ref: string,
): Stored<Project | undefined> {
  const { credentials } = storage
  const found = await credentials.getProject(isUuid(ref) ? ref.toLowerCase() : ref)
  return found.ok && !found.value && isExternalId(ref) ? credentials.findProject(ref) : found
}

/** Refuses a project that does not exist. A project is never deleted, so one read is enough. */
export const requireProject = (
  d: Reading,
  projectId: string,
): ResultAsync<void, Unavailable | ProjectNotFound> =>
  chain(d.storage.credentials.getProject(projectId)).andThen((found) =>
    found ? ok(undefined) : fail('project_not_found'),
  )
