import { ok, type ResultAsync } from 'neverthrow'
import { fail } from '../domain/values/fail.js'
import type { Reading } from '../platform.js'
import type { Unavailable } from '../ports/stored.js'
import { chain } from '../pacing/chain.js'

export type ProjectNotFound = { readonly kind: 'project_not_found' }

/** Refuses a project that does not exist. A project is never deleted, so one read is enough. */
export const requireProject = (
  d: Reading,
  projectId: string,
): ResultAsync<void, Unavailable | ProjectNotFound> =>
  chain(d.storage.credentials.getProject(projectId)).andThen((found) =>
    found ? ok(undefined) : fail('project_not_found'),
  )
