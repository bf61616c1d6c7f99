export const PERMISSIONS = [
  'project:read',
  'project:message',
  'project:agents',
  'project:webhooks',
  'project:events',
  'project:publish',
  'project:portals',
  'project:types',
  'project:audit',
  'project:erase',
  'project:admin',
] as const
export type Permission = (typeof PERMISSIONS)[number]

/** The permissions of a platform key. */
export const PLATFORM_PERMISSIONS = ['platform:projects', ...PERMISSIONS] as const
export type PlatformPermission = (typeof PLATFORM_PERMISSIONS)[number]

/** Named sets of permissions. */
export const ROLES = {
  viewer: ['project:read'],
  support: ['project:read', 'project:message', 'project:webhooks'],
  operator: [
    'project:read',
    'project:message',
    'project:webhooks',
    'project:agents',
    'project:events',
    'project:publish',
    'project:types',
  ],
  admin: PERMISSIONS,
} as const satisfies Record<string, readonly Permission[]>
export type Role = keyof typeof ROLES
export const ROLE_NAMES = Object.keys(ROLES) as Role[]

/** Returns the role that has exactly these permissions. */
export const roleOf = (permissions: readonly Permission[]): Role | undefined =>
  ROLE_NAMES.find((role) => {
    const ofRole: readonly Permission[] = ROLES[role]
    return ofRole.length === permissions.length && ofRole.every((one) => permissions.includes(one))
  })

/** The permission of the calls of each subject, and of single calls. Any one of a list opens them. */
const NEEDED = {
  messages: 'project:message',
  inputs: 'project:message',
  sessions: 'project:message',
  'sessions.erase': 'project:erase',
  sessionTokens: 'project:message',
  hooks: 'project:message',
  agents: 'project:agents',
  webhooks: 'project:webhooks',
  deliveries: 'project:webhooks',
  recoveries: 'project:webhooks',
  events: 'project:events',
  'events.publish': 'project:publish',
  'events.get': ['project:events', 'project:webhooks'],
  'events.list': ['project:events', 'project:webhooks'],
  'events.story': ['project:events', 'project:webhooks'],
  eventTypes: ['project:types', 'project:webhooks', 'project:events'],
  'eventTypes.put': 'project:types',
  'eventTypes.delete': 'project:types',
  auditLog: 'project:audit',
  stats: 'project:admin',
  failures: 'project:admin',
  principals: 'project:admin',
  'principals.erase': 'project:erase',
  keys: 'project:admin',
  portals: ['project:portals', 'project:admin'],
  projects: 'platform:projects',
} as const satisfies Record<string, Needed>
type Needed = PlatformPermission | readonly PlatformPermission[]
type Subject = Exclude<keyof typeof NEEDED, `${string}.${string}`>

/** The name of a call of the service, such as `webhooks.create`. */
export type CallName = Subject | `${Subject}.${string}`

/** The names of calls that change nothing. */
const READS = ['get', 'list', 'count', 'search', 'history', 'runs', 'stream', 'read', 'story']

export function isRead(call: CallName): boolean {
  const [, name] = call.split('.')
  return name === undefined || READS.includes(name)
}

/** Returns the permissions that open a call. A caller needs one of them. */
export function permissionsFor(call: CallName): readonly PlatformPermission[] {
  const [subject] = call.split('.') as [Subject]
  const own = (NEEDED as Readonly<Record<string, Needed>>)[call]
  const needed = [own ?? NEEDED[subject]].flat()
  return isRead(call) ? [...needed, 'project:read'] : needed
}

export const isPermitted = (permissions: readonly PlatformPermission[], call: CallName): boolean =>
  permissionsFor(call).some((one) => permissions.includes(one))
