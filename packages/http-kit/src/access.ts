import type { Actor, ApiKey } from '@org/agent-messaging-core'
import {
  errorIn,
  isSessionToken,
  mayCall,
  permissionsFor,
  type CallName,
  type EndpointService,
  type PlatformPermission,
  type SendingKey,
} from '@org/agent-messaging-core/host'
import type { Context, MiddlewareHandler } from 'hono'
import type { ErrorCode } from './error-codes.js'
import { refusal, type HttpError } from './errors.js'
import type { Requester } from './requester.js'
import { User } from './user.js'

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

/** One request, and its answer. */
export type KitContext = Context<KitEnv>

/**
 * Returns the caller of a request, or refuses it. With `recalls`, it can have a recalled key. With
 * `project`, it must have a platform key.
 */
export type Authenticate = (
  request: Request,
  options: { readonly recalls: boolean; readonly project?: string | null | undefined },
) => Promise<Requester>

type Keys = Pick<EndpointService['host'], 'authenticate'>

// One space, then a token without spaces and commas. Duplicate headers arrive joined by a comma.
const BEARER = /^bearer ([!-+\--~]+)$/i

/** Returns the token of `Authorization: Bearer <token>` (RFC 6750). The scheme has any case. */
export const bearerToken = ({ headers }: Pick<Request, 'headers'>): string | undefined =>
  BEARER.exec(headers.get('authorization') ?? '')?.[1]

/** Authenticates by the API key of a project, or by a session token. */
export const byApiKey =
  ({ service, now }: Watch): Authenticate =>
  async (request, { recalls, project }) => {
    const { host } = service
    const key = bearerToken(request)
    const since = now()
    const isOfPlatform = project !== undefined
    if (key === undefined)
      return refusal({ kind: isOfPlatform ? 'platform_key_required' : 'unauthorized' })
    if (isSessionToken(key) && !isOfPlatform) return byToken({ service, now }, key)
    const sent = { key, ...(isOfPlatform && { project }) }
    const recalled = recalls ? host.recall(sent) : undefined
    if (recalled) return new KeyAccess({ host, sent, since, isRecalled: true }, recalled)
    return new KeyAccess({ host, sent, since, isRecalled: false }, await host.authenticate(sent))
  }

async function byToken({ service, now }: Watch, token: string): Promise<Requester> {
  const { projectId, access } = await service.host.authenticateToken({ token })
  return new User({
    projectId,
    access,
    // A storage that is not available does not say whether the key is revoked.
    again: async () => {
      const found = await service.host.authenticateToken({ token }).catch(errorIn)
      return 'access' in found || found.kind === 'unavailable' ? access : undefined
    },
    checkMs: service.policy.stream.keyCheckMs,
    now,
  })
}

type KeyUse = {
  readonly host: Keys
  readonly sent: Parameters<Keys['authenticate']>[0]
  readonly since: number
  readonly isRecalled: boolean
}

class KeyAccess implements Requester {
  readonly projectId: string
  readonly permissions: readonly PlatformPermission[]
  readonly actor: Actor
  readonly sentBy: SendingKey
  readonly since: number
  readonly #use: KeyUse
  /** What is known about a recalled key. */
  #known: { readonly refusal?: HttpError } | undefined

  constructor(use: KeyUse, { projectId, permissions, id, name }: ApiKey) {
    this.since = use.since
    this.projectId = projectId
    this.permissions = permissions
    this.actor = { kind: use.sent.project === undefined ? 'key' : 'platform', id, name }
    this.sentBy = { id, isRecalled: use.isRecalled }
    this.#use = use
  }

  async confirm(): Promise<HttpError | undefined> {
    if (this.#known) return this.#known.refusal
    return this.sentBy.isRecalled ? this.#read() : undefined
  }

  learn(error: { readonly kind: string } | undefined): void {
    if (error === undefined || error.kind === 'unavailable') this.#known = {}
    if (error?.kind === 'unauthorized') this.#known = { refusal: { kind: 'unauthorized' } }
  }

  async recheck(): Promise<HttpError | undefined> {
    const refused = await this.#read()
    return refused?.kind === 'unauthorized' ? refused : undefined
  }

  async #read(): Promise<HttpError | undefined> {
    const { host, sent } = this.#use
    return host.authenticate(sent).then(() => undefined, errorIn)
  }
}

type Needed = {
  /** The call of the service that the route makes. */
  readonly call: CallName
  readonly recalls?: boolean
  /** True for a call about no project, which needs a platform key. */
  readonly isOfPlatform?: boolean
  /** True if the route checks the permissions itself. */
  readonly anyPermission?: boolean
}

/** A parameter of the path that no mount of a host has. */
export const PLATFORM_PROJECT = 'projectOfPlatform'

/**
 * Accepts requests of callers who can make the call, and sets their `requester`. With `recalls`, a key that was
 * valid before is not read again: give `sentBy` to the send.
 */
export function allowAccess<E extends KitEnv>(
  d: Watch & { readonly authenticate: Authenticate },
  { call, recalls = false, isOfPlatform = false, anyPermission = false }: Needed,
  refuse: (c: Context<E>, error: HttpError) => Response,
): MiddlewareHandler<E> {
  const needed = permissionsFor(call)
  return async (c, next) => {
    const project = isOfPlatform ? null : c.req.param(PLATFORM_PROJECT)
    const requester = await d.authenticate(c.req.raw, { recalls, project }).catch(errorIn)
    if ('kind' in requester) return refuse(c, requester)
    c.set('requester', requester)
    if (!isOfPlatform) c.set('projectId', requester.projectId)
    const { permissions, access } = requester
    const hasPermission = anyPermission || needed.some((one) => permissions.includes(one))
    if (hasPermission && mayCall(access, call)) {
      await next()
      const ended = await lateRefusal(requester, d)
      if (!ended) return
      await c.res.body?.cancel()
      // Hono would keep the headers of the answer that the caller does not get.
      c.res = undefined
      c.res = refuse(c, ended)
      return
    }
    const error = hasPermission ? RESTRICTED : ({ kind: 'forbidden', permissions: needed } as const)
    return refuse(c, (await requester.confirm()) ?? error)
  }
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

/**
 * Returns the refusal of a caller whose access has ended during a wait for the answer. Cancel the
 * body of that answer: a stream would stay open.
 */
export async function lateRefusal(
  requester: Requester | undefined,
  { service, now }: Watch,
): Promise<HttpError | undefined> {
  if (!requester || now() - requester.since < service.policy.stream.keyCheckMs) return undefined
  return requester.recheck()
}

type Watch = {
  readonly service: Pick<EndpointService, 'host' | 'policy'>
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
    return (await access.recheck()) !== undefined
  }
}
