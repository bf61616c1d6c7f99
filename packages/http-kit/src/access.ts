import type {
  Access,
  Actor,
  ApiKey,
  EndpointService,
  Permission,
  SendingKey,
} from '@org/agent-messaging-core'
import { errorIn, isScoped } from '@org/agent-messaging-core/runtime'
import type { Context, MiddlewareHandler } from 'hono'
import type { ErrorCode } from './error-codes.js'
import { refusal, type HttpError } from './errors.js'

/** The caller of a request, and what the caller can do. */
export type Requester = {
  readonly projectId: string
  readonly permissions: readonly Permission[]
  /** The caller that the audit log names. */
  readonly actor: Actor
  /** What a host says about its user. Undefined: an API key. */
  readonly access?: Access | undefined
  /** Give it to the send. A recalled key is not read again. Undefined: not an API key. */
  readonly sentBy: SendingKey | undefined
  /**
   * Returns a refusal if a recalled key is not valid now. Ask before you refuse the request for
   * another reason, and before everything except a send.
   */
  readonly confirm: () => Promise<HttpError | undefined>
  /**
   * Keeps what the outcome of a send says about the key, so that `confirm` does not read it again.
   * A storage that is not available does not say whether the key is revoked.
   */
  readonly learn: (error: { readonly kind: string } | undefined) => void
  /** Tells whether the key is revoked now. An unavailable storage revokes no key. */
  readonly isRevoked: () => Promise<boolean>
  /** Tells a wait that the caller's access has ended. Absent for API keys. */
  readonly hasEnded?: () => boolean
}

/** The variables that every request has. */
export type KitEnv = {
  Variables: {
    requestId: string
    /** Set when the request is authenticated. */
    requester: Requester
    /** Set with `requester`. */
    projectId: string
    refusal?: { readonly errorCode: ErrorCode; readonly reason?: string }
  }
}

/** Returns the caller of a request, or refuses it. With `recalls`, it can have a recalled key. */
export type Authenticate = (
  request: Request,
  options: { readonly recalls: boolean },
) => Promise<Requester>

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
    if (key === undefined) return refusal({ kind: 'unauthorized' })
    const recalled = recalls ? keys.recall(key) : undefined
    if (recalled) return new KeyAccess(keys, key, recalled, true)
    return new KeyAccess(keys, key, await keys.authenticate(key), false)
  }

class KeyAccess implements Requester {
  readonly projectId: string
  readonly permissions: readonly Permission[]
  readonly actor: Actor
  readonly sentBy: SendingKey
  readonly #keys: Keys
  readonly #key: string
  /** What is known about a recalled key. */
  #known: { readonly refusal?: HttpError } | undefined

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
    if (this.#known) return this.#known.refusal
    return this.sentBy.isRecalled ? this.#read() : undefined
  }

  learn(error: { readonly kind: string } | undefined): void {
    if (error === undefined || error.kind === 'unavailable') this.#known = {}
    if (error?.kind === 'unauthorized') this.#known = { refusal: { kind: 'unauthorized' } }
  }

  async isRevoked(): Promise<boolean> {
    return (await this.#read())?.kind === 'unauthorized'
  }

  async #read(): Promise<HttpError | undefined> {
    return this.#keys.authenticate(this.#key).then(() => undefined, errorIn)
  }
}

type Needed = { readonly permission?: Permission; readonly recalls?: boolean }

/**
 * Accepts requests with the permission, and sets their `requester`. With `recalls`, a key that was
 * valid before is not read again: give `sentBy` to the send.
 */
export const allowAccess =
  <E extends KitEnv>(
    { authenticate }: { readonly authenticate: Authenticate },
    { permission, recalls = false }: Needed,
    refuse: (c: Context<E>, error: HttpError) => Response,
  ): MiddlewareHandler<E> =>
  async (c, next) => {
    const requester = await authenticate(c.req.raw, { recalls }).catch(errorIn)
    if ('kind' in requester) return refuse(c, requester)
    c.set('requester', requester)
    c.set('projectId', requester.projectId)
    const { permissions, access } = requester
    const isPermitted = permission === undefined || permissions.includes(permission)
    if (isPermitted && !isScoped(access)) return next()
    const error = isPermitted ? RESTRICTED : ({ kind: 'forbidden', permission } as const)
    return refuse(c, (await requester.confirm()) ?? error)
  }

const RESTRICTED = { kind: 'access_restricted' } as const

/** Returns the error that the request gets: its own, or the refusal of its recalled key. */
export async function errorFor<E extends { readonly kind: string }>(
  access: Requester | undefined,
  error: E,
): Promise<E | HttpError> {
  access?.learn(error)
  return (await access?.confirm()) ?? error
}

type Watch = {
  readonly service: Pick<EndpointService, 'policy'>
  /** Milliseconds from any origin. */
  readonly now: () => number
}

/** Returns a check of a long answer, which reads the key at most once per `keyCheckMs`. */
export function revocationCheck(
  access: Requester,
  { service, now }: Watch,
): () => Promise<boolean> {
  let checkedAt = now()
  return async () => {
    if (now() - checkedAt < service.policy.stream.keyCheckMs) return false
    checkedAt = now()
    return access.isRevoked()
  }
}
