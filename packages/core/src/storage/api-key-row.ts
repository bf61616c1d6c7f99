import type { ApiKey } from '../domain/access/api-key.js'

/** An API key without the digest, which no method returns. */
export type ApiKeyRow = Omit<ApiKey, 'permissions' | 'expiresAt' | 'revokedAt'> & {
  readonly permissions: string
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

export const API_KEY_COLUMNS = [
  'id',
  'projectId',
  'name',
  'permissions',
  'createdAt',
  'expiresAt',
  'revokedAt',
] as const satisfies readonly (keyof ApiKeyRow)[]

export const toApiKey = ({ permissions, expiresAt, revokedAt, ...row }: ApiKeyRow): ApiKey => ({
  ...row,
  permissions: JSON.parse(permissions) as ApiKey['permissions'],
  ...(expiresAt !== null && { expiresAt }),
  ...(revokedAt !== null && { revokedAt }),
})

export const apiKeyColumns = (key: ApiKey): ApiKeyRow => ({
  ...key,
  permissions: JSON.stringify(key.permissions),
  expiresAt: key.expiresAt ?? null,
  revokedAt: key.revokedAt ?? null,
})
