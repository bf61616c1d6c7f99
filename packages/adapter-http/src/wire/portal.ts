import { PORTAL_PERMISSIONS, type CreatedPortal } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { at, uuid, type BodyOf } from './body.js'

export const portalPermissionSchema = z.enum(PORTAL_PERMISSIONS).meta({ id: 'PortalPermission' })

export const portalLinkSchema = z
  .object({
    id: uuid,
    url: z.string().meta({ description: 'Opens the portal once. Shown only in this answer.' }),
    permissions: z.array(portalPermissionSchema),
    returnUrl: z.string().optional(),
    createdAt: at,
    linkExpiresAt: at.meta({ description: 'The end of the time to open the link.' }),
    expiresAt: at.meta({ description: 'The end of the session.' }),
  })
  .meta({ id: 'PortalLink' })

export const portalLinkBody = (
  { session, code }: CreatedPortal,
  page: string,
): BodyOf<typeof portalLinkSchema> => ({
  id: session.id,
  url: `${page}?code=${code}`,
  permissions: session.permissions,
  ...(session.returnUrl !== undefined && { returnUrl: session.returnUrl }),
  createdAt: toIso(session.createdAt),
  linkExpiresAt: toIso(session.linkUntil),
  expiresAt: toIso(session.until),
})
