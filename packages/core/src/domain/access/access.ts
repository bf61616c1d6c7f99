import { err, ok, type Err, type Result } from 'neverthrow'
import { broken, IS_REQUIRED, textRule, type Invalid, type Rule } from '../values/input-rules.js'
import { isJsonObject } from '../values/json.js'
import { unknownFields } from '../values/nearest-name.js'
import { PERMISSIONS, type CallName, type Permission } from './permission.js'
import type { Actor } from './audit.js'
import { isEndUser, MAX_END_USER_ID, principalProblem, type Principal } from './principal.js'

/** A caller without an API key, such as a user of the host, and the sessions of that caller. */
export type Access = {
  /** The caller's id, 1 to 256 characters. The audit log and the limits of sends name it. */
  readonly caller: string
  readonly permissions: readonly Permission[]
  /** A prefix has at most 128 characters, and ends with `/`, `:`, `.`, `_` or `-`, so that `user-1` does not match `user-10`. */
  readonly sessions: 'all' | SessionScope
  /** Ids or names of agents. Absent: all agents. */
  readonly agents?: readonly string[] | undefined
  /** The only end user for whom the caller acts. */
  readonly principal?: { readonly endUserId: string } | undefined
}

/** The sessions that a caller reaches. */
export type SessionScope = { readonly ids: readonly string[] } | { readonly prefix: string }

/** A call that a caller with an `Access` can make. */
export type ByAccess = {
  /** Absent: the caller reaches the whole project. */
  readonly access?: Access | undefined
}

/** The calls that a scoped caller can make. Each one stays within the caller's sessions. */
export const SCOPED_CALLS = [
  'messages.send',
  'messages.get',
  'messages.list',
  'messages.count',
  'messages.search',
  'messages.history',
  'messages.stream',
  'messages.cancel',
  'messages.retry',
  'sessions.list',
  'inputs.list',
  'inputs.answer',
] as const satisfies readonly CallName[]

/** True if the caller does not reach the sessions of all agents. */
export const isScoped = (access: Access | undefined): access is Access =>
  access !== undefined && (access.sessions !== 'all' || access.agents !== undefined)

/** Returns false if `call`, such as `webhooks.create`, is refused to a scoped caller. */
export const mayCall = (access: Access | undefined, call: CallName): boolean =>
  !isScoped(access) || (SCOPED_CALLS as readonly CallName[]).includes(call)

export function seesSession(access: Access | undefined, sessionId: string): boolean {
  return access === undefined || access.sessions === 'all' || isInScope(access.sessions, sessionId)
}

export const isInScope = (scope: SessionScope, sessionId: string): boolean =>
  'ids' in scope ? scope.ids.includes(sessionId) : sessionId.startsWith(scope.prefix)

/** Returns true if `now` allows all that `before` allows. */
export const keepsAccess = (before: Access, now: Access): boolean =>
  now.caller === before.caller &&
  before.permissions.every((one) => now.permissions.includes(one)) &&
  keepsSessions(before.sessions, now.sessions) &&
  (now.agents === undefined || before.agents?.every((one) => now.agents?.includes(one)) === true) &&
  (now.principal === undefined || now.principal.endUserId === before.principal?.endUserId)

function keepsSessions(before: Access['sessions'], now: Access['sessions']): boolean {
  if (now === 'all' || before === 'all') return now === 'all'
  if ('ids' in before) return before.ids.every((id) => isInScope(now, id))
  return 'prefix' in now && before.prefix.startsWith(now.prefix)
}

export const seesAgent = (
  access: Access | undefined,
  { id, name }: { readonly id: string; readonly name: string },
): boolean => access?.agents === undefined || [id, name].some((one) => access.agents?.includes(one))

/** The caller cannot make this call, or `field` names another end user than the caller's. */
export type AccessRestricted = {
  readonly kind: 'access_restricted'
  readonly field?: 'executionPrincipal' | 'endUserId'
}

const restricted = (field: 'executionPrincipal' | 'endUserId'): Err<never, AccessRestricted> =>
  err({ kind: 'access_restricted', field })

/**
 * Returns the principal of a request, or the only one of the caller if the request has none. An
 * invalid one is returned as it is, because it has its own error.
 */
export function ownPrincipal(
  access: Access | undefined,
  sent: unknown,
): Result<unknown, AccessRestricted> {
  const own = access?.principal
  if (!own) return ok(sent)
  if (sent === undefined || sent === null) return ok({ type: 'end_user', endUserId: own.endUserId })
  const isOther =
    principalProblem(sent) === undefined && !isEndUser(sent as Principal, own.endUserId)
  return isOther ? restricted('executionPrincipal') : ok(sent)
}

/** Returns the end user whose messages a list shows. */
export function ownEndUser(
  access: Access | undefined,
  asked: string | undefined,
): Result<string | undefined, AccessRestricted> {
  const own = access?.principal?.endUserId ?? asked
  return asked === undefined || asked === own ? ok(own) : restricted('endUserId')
}

export const actorOf = ({ caller }: Access): Actor => ({ kind: 'user', id: caller })

const MAX_CALLER = 256
const MAX_SESSION_ID = 256
/** Leaves room for the name of a session. */
const MAX_PREFIX = 128
const MOST_NAMED = 100
const FIELDS = ['caller', 'permissions', 'sessions', 'agents', 'principal']

/** Returns the broken rules of a value that a host returned, or undefined if it is an `Access`. */
export function accessProblem(value: unknown): Invalid | undefined {
  if (!isJsonObject(value)) return broken({ access: 'must be an object' })?.error
  const { caller, permissions, sessions, agents, principal } = value
  const unknown = Object.keys(value).filter((name) => !FIELDS.includes(name))
  return broken({
    access: unknown.length > 0 ? unknownFields(unknown, FIELDS) : undefined,
    caller: textRule(caller, MAX_CALLER),
    permissions: permissionsRule(permissions),
    sessions: sessionsRule(sessions),
    agents: agents === undefined ? undefined : textsRule(agents, MAX_SESSION_ID),
    principal: principalRule(principal),
  })?.error
}

function permissionsRule(permissions: unknown): Rule {
  if (permissions === undefined) return IS_REQUIRED
  const known: readonly unknown[] = PERMISSIONS
  return Array.isArray(permissions) && permissions.every((one) => known.includes(one))
    ? undefined
    : `must be a list of ${PERMISSIONS.join(', ')}`
}

function sessionsRule(sessions: unknown): Rule {
  if (sessions === undefined) return IS_REQUIRED
  if (sessions === 'all') return undefined
  const fields = isJsonObject(sessions) ? Object.entries(sessions) : []
  const [[name, value] = []] = fields
  if (fields.length === 1 && name === 'ids') return textsRule(value, MAX_SESSION_ID)
  if (fields.length === 1 && name === 'prefix') return prefixRule(value)
  return 'must be "all", { ids } or { prefix }'
}

function prefixRule(prefix: unknown): Rule {
  const problem = textRule(prefix, MAX_PREFIX)
  if (problem !== undefined) return `has a prefix that ${problem}`
  return /[/:._-]$/.test(prefix as string)
    ? undefined
    : 'has a prefix that does not end with one of / : . _ -'
}

function textsRule(texts: unknown, length: number): Rule {
  const isList =
    Array.isArray(texts) &&
    texts.length <= MOST_NAMED &&
    texts.every((text) => textRule(text, length) === undefined)
  return isList
    ? undefined
    : `must be a list of at most ${MOST_NAMED} texts of 1 to ${length} characters`
}

function principalRule(principal: unknown): Rule {
  if (principal === undefined) return undefined
  const isEndUser =
    isJsonObject(principal) &&
    Object.keys(principal).join() === 'endUserId' &&
    textRule(principal['endUserId'], MAX_END_USER_ID) === undefined
  return isEndUser ? undefined : `must be { endUserId } with 1 to ${MAX_END_USER_ID} characters`
}
