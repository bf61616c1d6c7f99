import type { ApiKey } from '../domain/access/api-key.js'
import { withIso, type WithIso } from '../domain/values/instant.js'
import type { CreatedKey } from '../operations/manage-credentials.js'

/** An API key as callers of the API and of the host see it. Times are ISO 8601 in UTC. */
export type ShownKey = WithIso<Omit<ApiKey, 'projectId'>>
/** `key` is the credential. It is shown only once. */
export type ShownCreatedKey = ShownKey & { readonly key: string }

export const shownKey = ({ projectId: _, ...key }: ApiKey): ShownKey => withIso(key)

export const shownCreatedKey = ({ apiKey, key }: CreatedKey): ShownCreatedKey => ({
  ...shownKey(apiKey),
  key,
})
