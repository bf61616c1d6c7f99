import { err, ok, type Result } from 'neverthrow'
import { isJsonObject, isStorableText } from './json.js'

/** On whose behalf an agent runs (S§2): the service itself, or an end user. */
export type Principal =
  | { readonly type: 'service' }
  | { readonly type: 'end_user'; readonly endUserId: string }

/** The one that a message carries. */
export type ExecutionPrincipal = Principal

/** An agent's default. Its `endUserId`, if any, describes the default; it never stands in for the caller's (S§4.1 rule 2). */
export type DefaultExecutionPrincipal =
  | { readonly type: 'service' }
  | { readonly type: 'end_user'; readonly endUserId?: string }

/** `endUserIdMissing` lets the message name the field when the agent's default is `end_user` (S§7). */
export type PrincipalError =
  | { readonly kind: 'end_user_id_required' }
  | {
      readonly kind: 'principal_invalid'
      readonly reason: string
      readonly endUserIdMissing: boolean
    }

export const MAX_END_USER_ID = 256

/**
 * S§4.1 rules 1–3 whole. `sent` is what the request held, unparsed; undefined means that it was omitted.
 * An explicit `{type:'service'}` is valid whatever the default is.
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

/** Why `value` is not one of the two variants of S§2, or undefined when it is. */
export function principalProblem(value: unknown): string | undefined {
  if (!isJsonObject(value)) return 'must be an object'
  if (value['type'] === 'service') {
    return Object.keys(value).length === 1 ? undefined : 'type "service" takes no other fields'
  }
  if (value['type'] !== 'end_user') return 'type must be "service" or "end_user"'
  const id = value['endUserId']
  if (typeof id !== 'string' || id === '')
    return 'type "end_user" needs endUserId, a non-empty string'
  if (id.length > MAX_END_USER_ID) return `endUserId is longer than ${MAX_END_USER_ID} characters`
  if (!isStorableText(id)) return 'endUserId holds NUL or a lone surrogate'
  return hasOnlyPrincipalKeys(value) ? undefined : 'type "end_user" takes no field but endUserId'
}

/** As `principalProblem`, for an agent's default, where `endUserId` may be left out. */
export function defaultPrincipalProblem(value: unknown): string | undefined {
  const isBareEndUser =
    isJsonObject(value) && value['type'] === 'end_user' && Object.keys(value).length === 1
  return isBareEndUser ? undefined : principalProblem(value)
}

export const isEndUser = (principal: ExecutionPrincipal, endUserId: string): boolean =>
  principal.type === 'end_user' && principal.endUserId === endUserId

/** Stands in the JSON of every principal that is this end user, and in that of no other. */
export const endUserMark = (endUserId: string): string => `"endUserId":${JSON.stringify(endUserId)}`

const hasOnlyPrincipalKeys = (value: object): boolean =>
  Object.keys(value).every((key) => key === 'type' || key === 'endUserId')
