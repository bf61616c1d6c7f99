import {
  err,
  ok,
  type Actor,
  type ApiKey,
  type EndpointService,
  type Permission,
  type Result,
  type SendingKey,
} from '@org/agent-messaging-core'
import type { Context } from 'hono'
import type { HttpError } from './errors.js'

/** The caller of a request, and what the caller can do. */
export type Access = {
  readonly projectId: string
  readonly permissions: readonly Permission[]
  /** The caller that the audit log names. */
  readonly actor: Actor
  /** Give it to the send. A recalled key is not read again. */
  readonly sentBy: SendingKey
  /**
   * Returns a refusal if a recalled key is not valid now. Ask before you refuse the request for
   * another reason, and before everything except a send.
   */
  readonly confirm: () => Promise<HttpError | undefined>
  /** Tells whether the key is revoked now. An unavailable storage revokes no key. */
  readonly isRevoked: () => Promise<boolean>
}

/** Returns the access of a request, or its refusal. With `recalls`, it can be a recalled key. */
export type Authenticate = (
  request: Request,
  options: { readonly recalls: boolean },
) => Promise<Result<Access, HttpError>>

type Keys = Pick<EndpointService['keys'], 'authenticate' | 'recall'>

// One space, then a token without spaces and commas. Duplicate headers arrive joined by a comma.
const BEARER = /^bearer ([!-+\--~]+)$/i

/** Returns the token of `Authorization: Bearer <token>` (RFC 6750). The scheme has any case. */
export const bearerToken = ({ headers }: Pick<Request, 'headers'>): string | undefined =>
  BEARER.exec(headers.get('authorization') ?? '')?.[1]

/** Authenticates by the API key of a project. */
export const byApiKey =
  (keys: Keys): Authenticate =>
  async (request, { recalls }) => {
    const key = bearerToken(request)
    if (key === undefined) return err({ kind: 'unauthorized' })
    const recalled = recalls ? keys.recall(key) : undefined
    if (recalled) return ok(new KeyAccess(keys, key, recalled, true))
    return keys.authenticate(key).map((found) => new KeyAccess(keys, key, found, false))
  }

class KeyAccess implements Access {
  readonly projectId: string
  readonly permissions: readonly Permission[]
  readonly actor: Actor
  readonly sentBy: SendingKey
  readonly #keys: Keys
  readonly #key: string

  constructor(
    keys: Keys,
    key: string,
    { projectId, permissions, id }: ApiKey,
    isRecalled: boolean,
  ) {
    this.projectId = projectId
    this.permissions = permissions
    this.actor = { kind: 'key', id }
    this.sentBy = { id, isRecalled }
    this.#keys = keys
    this.#key = key
  }

  async confirm(): Promise<HttpError | undefined> {
    return this.sentBy.isRecalled ? this.#read() : undefined
  }

  async isRevoked(): Promise<boolean> {
    return (await this.#read())?.kind === 'unauthorized'
  }

  async #read(): Promise<HttpError | undefined> {
    const found = await this.#keys.authenticate(this.#key)
    return found.isErr() ? found.error : undefined
  }
}

/** Sets the access of the request. Returns a refusal if it lacks the permission. */
export async function refusalOfAccess(
  c: Context,
  authenticate: Authenticate,
  { permission, recalls = false }: { readonly permission?: Permission; readonly recalls?: boolean },
): Promise<HttpError | undefined> {
  const found = await authenticate(c.req.raw, { recalls })
  if (found.isErr()) return found.error
  const access = found.value
  c.set('access', access)
  c.set('projectId', access.projectId)
  if (permission === undefined || access.permissions.includes(permission)) return undefined
  return (await access.confirm()) ?? { kind: 'forbidden', permission }
}

type Watch = {
  readonly service: Pick<EndpointService, 'policy'>
  /** Milliseconds from any origin. */
  readonly now: () => number
}

/** Returns a check of a long answer, which reads the key at most once per `keyCheckMs`. */
export function revocationCheck(access: Access, { service, now }: Watch): () => Promise<boolean> {
  let checkedAt = now()
  return async () => {
    if (now() - checkedAt < service.policy.stream.keyCheckMs) return false
    checkedAt = now()
    return access.isRevoked()
  }
}
