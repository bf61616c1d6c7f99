import type { PortalSession } from '../domain/access/portal.js'

/** A portal session without the digest, which no method returns. */
export type PortalRow = Omit<
  PortalSession,
  'permissions' | 'isReadOnly' | 'title' | 'returnUrl' | 'openedAt' | 'endedAt'
> & {
  readonly permissions: string
  /** SQLite has no boolean. PostgreSQL accepts 0 and 1. */
  readonly isReadOnly: boolean | number
  readonly title: string | null
  readonly returnUrl: string | null
  readonly openedAt: number | null
  readonly endedAt: number | null
}

export const PORTAL_COLUMNS = [
  'id',
  'projectId',
  'permissions',
  'isReadOnly',
  'title',
  'returnUrl',
  'createdAt',
  'linkUntil',
  'until',
  'openedAt',
  'endedAt',
] as const satisfies readonly (keyof PortalRow)[]

export const toPortalSession = ({
  permissions,
  isReadOnly,
  title,
  returnUrl,
  openedAt,
  endedAt,
  ...row
}: PortalRow): PortalSession => ({
  ...row,
  permissions: JSON.parse(permissions) as PortalSession['permissions'],
  isReadOnly: Boolean(isReadOnly),
  ...(title !== null && { title }),
  ...(returnUrl !== null && { returnUrl }),
  ...(openedAt !== null && { openedAt }),
  ...(endedAt !== null && { endedAt }),
})

export const portalColumns = (session: PortalSession): PortalRow => ({
  ...session,
  permissions: JSON.stringify(session.permissions),
  isReadOnly: session.isReadOnly ? 1 : 0,
  title: session.title ?? null,
  returnUrl: session.returnUrl ?? null,
  openedAt: session.openedAt ?? null,
  endedAt: session.endedAt ?? null,
})
