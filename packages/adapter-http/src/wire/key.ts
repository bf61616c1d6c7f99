import { PERMISSIONS, type ApiKey } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { at, uuid, type BodyOf } from './body.js'

export const keySchema = z
  .object({
    id: uuid,
    name: z.string(),
    permissions: z.array(z.enum(PERMISSIONS)),
    createdAt: at,
    expiresAt: at.optional(),
    revokedAt: at.optional(),
  })
  .meta({ id: 'ApiKey' })

export const createdKeySchema = keySchema
  .extend({ key: z.string().meta({ description: 'The key itself; shown this once.' }) })
  .meta({ id: 'CreatedApiKey' })

/** Never with the key itself: only the answer of create adds it. */
export const keyBody = ({
  id,
  name,
  permissions,
  createdAt,
  expiresAt,
  revokedAt,
}: ApiKey): BodyOf<typeof keySchema> => ({
  ...{ id, name, permissions },
  createdAt: toIso(createdAt),
  ...(expiresAt !== undefined && { expiresAt: toIso(expiresAt) }),
  ...(revokedAt !== undefined && { revokedAt: toIso(revokedAt) }),
})
