import { toIso, type ApiKey } from '@org/agent-messaging-core'

/** Never with the key itself: only the answer of create adds it. */
export const keyBody = ({ id, name, permissions, createdAt, expiresAt, revokedAt }: ApiKey) => ({
  ...{ id, name, permissions },
  createdAt: toIso(createdAt),
  ...(expiresAt !== undefined && { expiresAt: toIso(expiresAt) }),
  ...(revokedAt !== undefined && { revokedAt: toIso(revokedAt) }),
})
