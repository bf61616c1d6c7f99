import type { Instant } from '../values/instant.js'
import type { SettingsOf } from '../values/setting.js'
import type { RandomBytes } from '../webhooks/signature.js'
import {
  PERMISSIONS,
  PLATFORM_PERMISSIONS,
  ROLE_NAMES,
  type Permission,
  type PlatformPermission,
  type Role,
} from './permission.js'

/**
 * A credential of one project. The key is shown once. The service stores only its SHA-256 digest.
 */
export type ApiKey = {
  readonly id: string
  readonly projectId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  readonly createdAt: Instant
  readonly expiresAt?: Instant
  readonly revokedAt?: Instant
}

/**
 * A credential of a platform, which acts on all projects, on one at a time. A store has it as an
 * `ApiKey` of the project `NO_PROJECT`.
 */
export type PlatformKey = Omit<ApiKey, 'projectId' | 'permissions'> & {
  readonly permissions: readonly PlatformPermission[]
}
export const NO_PROJECT = ''
/** The project of entries of the audit log that are about no project. No project has this id. */
const ALL_PROJECTS = '00000000-0000-0000-0000-000000000000'
export const auditedProject = (projectId: string): string => projectId || ALL_PROJECTS

/** The name of a key or a project. */
export const nameSetting = {
  type: 'string',
  maxLength: 100,
  required: true,
  description: 'A name for people.',
} as const

/** The settings that people give. */
export type ApiKeySettings = {
  readonly name: string
  /** A set of permissions, instead of `permissions`. */
  readonly role?: Role | undefined
  /** What the key can do. Give a program only what it uses. */
  readonly permissions?: readonly Permission[] | undefined
  readonly expiresAt?: Instant | undefined
}

export const apiKeySettings = {
  name: nameSetting,
  role: {
    type: 'string',
    enum: ROLE_NAMES,
    description: 'Gives the permissions of the role. Give a role or `permissions`.',
  },
  permissions: { type: 'array', items: { type: 'string', enum: PERMISSIONS }, minItems: 1 },
  expiresAt: { type: 'number', format: 'date-time', description: 'In the future. Absent: never.' },
} as const satisfies SettingsOf<ApiKeySettings>

export type PlatformKeySettings = Pick<PlatformKey, 'name' | 'permissions'> &
  Pick<ApiKeySettings, 'expiresAt'>

export const platformKeySettings = {
  name: nameSetting,
  permissions: {
    type: 'array',
    items: { type: 'string', enum: PLATFORM_PERMISSIONS },
    minItems: 1,
    required: true,
    description: 'What the key can do in every project.',
  },
  expiresAt: apiKeySettings.expiresAt,
} as const satisfies SettingsOf<PlatformKeySettings>

const PREFIX = 'amk_'
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6
const KEY = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)

/** Returns a key: `amk_`, 32 random base62 characters and 6 characters of checksum. */
export function newApiKey(randomBytes: RandomBytes): string {
  let random = ''
  while (random.length < RANDOM_LENGTH) {
    for (const byte of randomBytes(RANDOM_LENGTH)) {
      // 248 = 4 × 62: a byte at or above it would favour the first characters.
      if (byte < 248 && random.length < RANDOM_LENGTH) random += BASE62[byte % 62]
    }
  }
  return PREFIX + random + checksum(random)
}

/**
 * Returns true if a key of our form has a wrong checksum: such a key is refused without a read.
 * Keys of another form, such as bootstrap keys, are looked up.
 */
export function isMistyped(key: string): boolean {
  if (!key.startsWith(PREFIX)) return false
  return (
    !KEY.test(key) ||
    checksum(key.slice(PREFIX.length, -CHECKSUM_LENGTH)) !== key.slice(-CHECKSUM_LENGTH)
  )
}

/** Returns true for a token of some sessions. It is no key. */
export const isSessionToken = (key: string): boolean => key.startsWith('ams_')

/**
 * A bootstrap key, for tests and containers, is any 20 or more printable ASCII characters without
 * space and comma.
 */
export const isBootstrapKey = (key: string): boolean => /^[!-+\--~]{20,255}$/.test(key)

/** Returns the CRC-32 as six base62 digits. It catches typing errors and protects nothing. */
function checksum(text: string): string {
  let crc = 0xffffffff
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i)
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  let rest = ~crc >>> 0
  let digits = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = BASE62[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}
