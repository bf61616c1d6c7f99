import type { Permission } from './permission.js'
import type { Instant } from '../values/instant.js'
import type { SettingsOf } from '../values/setting.js'

/** The permissions that a portal link can grant. */
export const PORTAL_PERMISSIONS = [
  'project:webhooks',
  'project:message',
] as const satisfies readonly Permission[]
export type PortalPermission = (typeof PORTAL_PERMISSIONS)[number]

/** The settings of a link that people give. */
export type PortalSettings = {
  readonly permissions?: readonly PortalPermission[] | undefined
  /** True shows the pages without forms, and refuses changes. Default: false. */
  readonly readOnly?: boolean | undefined
  readonly lifetimeSeconds?: number | undefined
  /** The customer's name in the portal, 1 to 100 characters. */
  readonly title?: string | undefined
  /** An http or https URL. The host decides which origins are allowed. */
  readonly returnUrl?: string | undefined
}

export const portalSettings = {
  permissions: {
    type: 'array',
    items: { type: 'string', enum: PORTAL_PERMISSIONS },
    minItems: 1,
    unset: '`project:webhooks`',
    label: 'permission of the customer, by default project:webhooks',
  },
  readOnly: {
    type: 'boolean',
    default: false,
    description: 'Shows the pages without forms, and refuses changes.',
    label: 'show the pages without forms, and refuse changes',
  },
  lifetimeSeconds: {
    type: 'integer',
    minimum: 60,
    maximum: 86_400,
    description: 'The seconds from now to the end of the session.',
    unset: 'an hour',
    label: 'time until the session ends (default: 1h)',
  },
  title: {
    type: 'string',
    maxLength: 100,
    description: "The customer's name at the top of each page.",
    unset: 'the name of the project',
    label: "customer's name in the portal (default: the project's name)",
  },
  returnUrl: {
    type: 'string',
    maxLength: 2_000,
    pattern: '^https?:[^\\x00]+$',
    description: 'A page of an origin in `SERVICE_PORTAL_RETURN_ORIGINS`.',
    label: 'page of your product that the portal links back to',
  },
} as const satisfies SettingsOf<PortalSettings>

/**
 * A customer's visit to the pages of one project. A link opens the session once, before
 * `linkUntil`. The session ends at `until`.
 */
export type PortalSession = {
  readonly id: string
  readonly projectId: string
  readonly permissions: readonly PortalPermission[]
  readonly isReadOnly: boolean
  /** The customer's name, if it is not that of the project. */
  readonly title?: string
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
