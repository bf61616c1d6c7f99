import type { PortalSession } from '../domain/access/portal.js'

/** A portal session without the digest, which no method returns. */
export type PortalRow = Omit<
  PortalSession,
  'permissions' | 'returnUrl' | 'openedAt' | 'endedAt'
> & {
  readonly permissions: string
  readonly returnUrl: string | null
  readonly openedAt: number | null
  readonly endedAt: number | null
}

export const PORTAL_COLUMNS = [
  'id',
  'projectId',
  'permissions',
  'returnUrl',
  'createdAt',
  'linkUntil',
  'until',
  'openedAt',
  'endedAt',
] as const satisfies readonly (keyof PortalRow)[]

export const toPortalSession = ({
  permissions,
  returnUrl,
  openedAt,
  endedAt,
  ...row
}: PortalRow): PortalSession => ({
  ...row,
  permissions: JSON.parse(permissions) as PortalSession['permissions'],
  ...(returnUrl !== null && { returnUrl }),
  ...(openedAt !== null && { openedAt }),
  ...(endedAt !== null && { endedAt }),
})

export const portalColumns = (session: PortalSession): PortalRow => ({
  ...session,
  permissions: JSON.stringify(session.permissions),
  returnUrl: session.returnUrl ?? null,
  openedAt: session.openedAt ?? null,
  endedAt: session.endedAt ?? null,
})
