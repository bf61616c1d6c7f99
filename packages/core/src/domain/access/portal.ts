import type { Permission } from './api-key.js'
import type { Instant } from '../values/instant.js'

/** The permissions that a portal link can grant. */
export const PORTAL_PERMISSIONS = [
  'project:webhooks',
  'project:message',
] as const satisfies readonly Permission[]
export type PortalPermission = (typeof PORTAL_PERMISSIONS)[number]

/** The length of a session, in seconds. */
export const PORTAL_LIFETIME = { minimum: 60, maximum: 86_400, default: 3_600 }
export const MAX_RETURN_URL = 2_000

/**
 * A customer's visit to the pages of one project. A link opens the session once, before
 * `linkUntil`. The session ends at `until`.
 */
export type PortalSession = {
  readonly id: string
  readonly projectId: string
  readonly permissions: readonly PortalPermission[]
  /** The page of the platform that the customer comes from and goes back to. */
  readonly returnUrl?: string
  readonly createdAt: Instant
  readonly linkUntil: Instant
  readonly until: Instant
  readonly openedAt?: Instant
  readonly endedAt?: Instant
}

/** Returns true if the link can open the session. */
export const canOpen = ({ openedAt, endedAt, linkUntil }: PortalSession, now: Instant): boolean =>
  openedAt === undefined && endedAt === undefined && linkUntil > now

/** Returns true if the session was opened and has not ended. */
export const isOpen = ({ openedAt, endedAt, until }: PortalSession, now: Instant): boolean =>
  openedAt !== undefined && endedAt === undefined && until > now
