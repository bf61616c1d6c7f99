import { err, ok, type Result } from 'neverthrow'
import { isJsonObject, isLonger, isStorableText } from '../values/json.js'

/** On whose behalf an agent runs: the service, or an end user. */
export type Principal =
  | { readonly type: 'service' }
  | { readonly type: 'end_user'; readonly endUserId: string }

/** The principal of a message. */
export type ExecutionPrincipal = Principal

/**
 * An agent's default principal. Its `endUserId` describes the default and never replaces the
 * caller's: a caller without one must not act for another person.
 */
export type DefaultExecutionPrincipal =
  | { readonly type: 'service' }
  | { readonly type: 'end_user'; readonly endUserId?: string }

/**
 * With `endUserIdMissing`, the error message names the field because the agent's default is
 * `end_user`.
 */
export type PrincipalError =
  | { readonly kind: 'end_user_id_required' }
  | {
      readonly kind: 'principal_invalid'
      readonly reason: string
      readonly endUserIdMissing: boolean
    }

export const MAX_END_USER_ID = 256

/**
 * Returns the principal of the request, or else the agent's default. A default of `end_user` needs
 * the request's `endUserId`. `sent` is the unparsed value, or undefined if omitted. An explicit
 * `{type:'service'}` is always valid.
 */
export function resolvePrincipal(
  sent: unknown,
  agentDefault: DefaultExecutionPrincipal,
): Result<ExecutionPrincipal, PrincipalError> {
  const needsEndUser = agentDefault.type === 'end_user'
  if (sent === undefined)
    return needsEndUser ? err({ kind: 'end_user_id_required' }) : ok({ type: 'service' })
  const endUserId = isJsonObject(sent) ? sent['endUserId'] : undefined
  const endUserIdMissing = needsEndUser && (endUserId === undefined || endUserId === '')
  const reason = principalProblem(sent)
  if (reason === undefined) return ok(sent as ExecutionPrincipal)
  const onlyEndUserIdMissing =
    endUserIdMissing &&
    isJsonObject(sent) &&
    sent['type'] === 'end_user' &&
    hasOnlyPrincipalKeys(sent)
  return err(
    onlyEndUserIdMissing
      ? { kind: 'end_user_id_required' }
      : { kind: 'principal_invalid', reason, endUserIdMissing },
  )
}

/** Returns the reason why `value` is neither variant of a principal, or undefined if it is one. */
export function principalProblem(value: unknown): string | undefined {
  if (!isJsonObject(value)) return 'must be an object'
  if (value['type'] === 'service') {
    return Object.keys(value).length === 1 ? undefined : 'type "service" takes no other fields'
  }
  if (value['type'] !== 'end_user') return 'type must be "service" or "end_user"'
  const id = value['endUserId']
  if (typeof id !== 'string' || id === '')
    return 'type "end_user" needs endUserId, a non-empty string'
  if (isLonger(id, MAX_END_USER_ID)) return `endUserId is longer than ${MAX_END_USER_ID} characters`
  if (!isStorableText(id)) return 'endUserId holds NUL or a lone surrogate'
  return hasOnlyPrincipalKeys(value) ? undefined : 'type "end_user" takes no field but endUserId'
}

/** Works as `principalProblem`, for an agent's default, which can omit `endUserId`. */
export function defaultPrincipalProblem(value: unknown): string | undefined {
  const isBareEndUser =
    isJsonObject(value) && value['type'] === 'end_user' && Object.keys(value).length === 1
  return isBareEndUser ? undefined : principalProblem(value)
}

export const isEndUser = (principal: ExecutionPrincipal, endUserId: string): boolean =>
  principal.type === 'end_user' && principal.endUserId === endUserId

export const isSamePrincipal = (a: Principal, b: Principal): boolean =>
  a.type === 'service' ? b.type === 'service' : isEndUser(b, a.endUserId)

/** Returns a text that the JSON of a principal contains only if it is this end user. */
export const endUserMark = (endUserId: string): string => `"endUserId":${JSON.stringify(endUserId)}`

const hasOnlyPrincipalKeys = (value: object): boolean =>
  Object.keys(value).every((key) => key === 'type' || key === 'endUserId')
