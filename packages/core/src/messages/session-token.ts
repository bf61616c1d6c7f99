import { errAsync, okAsync, type ResultAsync } from 'neverthrow'
import { accessProblem, type Access, type SessionScope } from '../domain/access/access.js'
import { MAX_END_USER_ID } from '../domain/access/principal.js'
import { broken, integerRule, textRule, type Invalid } from '../domain/values/input-rules.js'
import { toIso, type Instant } from '../domain/values/instant.js'
import type { Sealed } from '../domain/values/sealed.js'
import type { Platform } from '../platform.js'

export type CreateSessionTokenInput = {
  readonly projectId: string
  /** The only sessions that the token opens. */
  readonly sessions: SessionScope
  /** Ids or names of agents. Default: all agents. */
  readonly agents?: readonly string[] | undefined
  /** The only end user for whom the token acts. */
  readonly endUserId?: string | undefined
  /** Default: 15 minutes. At most 24 hours. */
  readonly expiresInMs?: number | undefined
  /** The API key that makes the token. If it is revoked, the token ends. */
  readonly apiKey?: string | undefined
}
export type SessionToken = { readonly token: string; readonly expiresAt: string }

/** What a valid token says. `keyDigest` is the digest of the key that made it. */
type Claims = {
  readonly projectId: string
  readonly access: Access
  readonly until: Instant
  readonly keyDigest?: string | undefined
}
type Signed = Omit<Claims, 'keyDigest'> & { readonly key?: Sealed }

type Parts = Pick<Platform, 'clock' | 'crypto'>

const DEFAULT_MS = 15 * 60_000
const MAX_MS = 24 * 3_600_000
/** Servers refuse longer headers. */
const MAX_LENGTH = 8_000
const PURPOSE = 'session-token'
const TOKEN = /^ams_([\w-]+)\.([\w-]+)$/
const KEY_CONTEXT = 'the key of a session token'

export const createSessionToken =
  ({ crypto, clock }: Parts) =>
  (input: CreateSessionTokenInput): ResultAsync<SessionToken, Invalid> => {
    const { projectId, sessions, agents, endUserId, expiresInMs = DEFAULT_MS, apiKey } = input
    const scope = { sessions, agents, ...(endUserId !== undefined && { principal: { endUserId } }) }
    // The same for each token of a caller, so that a new token has no new limits.
    const caller = `token:${crypto.sha256(JSON.stringify([projectId, scope])).slice(0, 32)}`
    const access: Access = { caller, permissions: ['project:message'], ...scope }
    const problem =
      broken({
        sessions: (sessions as unknown) === 'all' ? 'must be { ids } or { prefix }' : undefined,
        endUserId: endUserId === undefined ? undefined : textRule(endUserId, MAX_END_USER_ID),
        expiresInMs: integerRule(expiresInMs, 1_000, MAX_MS),
      })?.error ?? accessProblem(access)
    if (problem) return errAsync(problem)
    const until = clock.now() + expiresInMs
    const signed: Signed = {
      projectId,
      access,
      until,
      ...(apiKey !== undefined && { key: crypto.seal(crypto.sha256(apiKey), KEY_CONTEXT) }),
    }
    const text = base64url(JSON.stringify(signed))
    const token = `ams_${text}.${crypto.mac(PURPOSE, text)}`
    return token.length > MAX_LENGTH
      ? errAsync(broken({ sessions: 'are too many for a token' })?.error as Invalid)
      : okAsync({ token, expiresAt: toIso(until) })
  }

/** Returns undefined for a forged or an expired token, and for one of another master key. */
export function readSessionToken({ crypto, clock }: Parts, token: string): Claims | undefined {
  const [, text = '', code = ''] = TOKEN.exec(token) ?? []
  if (!crypto.isMac(PURPOSE, text, code)) return undefined
  const { key, ...claims } = JSON.parse(textOf(text)) as Signed
  if (claims.until <= clock.now()) return undefined
  if (key === undefined) return claims
  const keyDigest = crypto.unseal(key, KEY_CONTEXT)
  return keyDigest === undefined ? undefined : { ...claims, keyDigest }
}

const base64url = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const textOf = (encoded: string): string =>
  new TextDecoder().decode(
    Uint8Array.from(atob(encoded.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
      character.charCodeAt(0),
    ),
  )
