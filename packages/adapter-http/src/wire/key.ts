import { PERMISSIONS, type ApiKey } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { at, uuid, type BodyOf } from './body.js'

export const permissionSchema = z.enum(PERMISSIONS).meta({ id: 'Permission' })

export const keySchema = z
  .object({
    id: uuid,
    name: z.string(),
    permissions: z.array(permissionSchema),
    createdAt: at,
    expiresAt: at.optional(),
    revokedAt: at.optional(),
  })
  .meta({ id: 'ApiKey' })

export const createdKeySchema = keySchema
  .extend({ key: z.string().meta({ description: 'The key. Shown only in this answer.' }) })
  .meta({ id: 'CreatedApiKey' })

/** Does not contain the key: only the answer to `create` does. */
export const keyBody = ({
  id,
  name,
  permissions,
  createdAt,
  expiresAt,
  revokedAt,
}: ApiKey): BodyOf<typeof keySchema> => ({
  id,
  name,
  permissions,
  createdAt: toIso(createdAt),
  ...(expiresAt !== undefined && { expiresAt: toIso(expiresAt) }),
  ...(revokedAt !== undefined && { revokedAt: toIso(revokedAt) }),
})
