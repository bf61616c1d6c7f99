import type { ApiKey } from '../domain/access/api-key.js'
import { roleOf, type Role } from '../domain/access/permission.js'
import { withIso, type WithIso } from '../domain/values/instant.js'
import type { CreatedKey } from '../operations/manage-credentials.js'

/** An API key as callers of the API and of the host see it. Times are ISO 8601 in UTC. */
export type ShownKey = WithIso<Omit<ApiKey, 'projectId'>> & {
  /** Present if the key has exactly the permissions of a role. */
  readonly role?: Role
}
/** `key` is the credential. It is shown only once. */
export type ShownCreatedKey = ShownKey & { readonly key: string }

export function shownKey({ projectId: _, ...key }: ApiKey): ShownKey {
  const role = roleOf(key.permissions)
  return { ...withIso(key), ...(role && { role }) }
}

export const shownCreatedKey = ({ apiKey, key }: CreatedKey): ShownCreatedKey => ({
  ...shownKey(apiKey),
  key,
})
