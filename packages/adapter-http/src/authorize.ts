import type { Actor } from '@org/agent-messaging-core'
import { permissionsFor, type CallName } from '@org/agent-messaging-core/host'
import {
  allowAccess,
  bearerToken,
  type HttpError,
  type RequestError,
} from '@org/agent-messaging-http-kit'
import type { MiddlewareHandler } from 'hono'
import { annotated, type SecurityScheme } from './document/describe-route.js'
import type { Env, RouteContext } from './env.js'
import { refuse } from './errors.js'
import type { HttpDeps } from './options.js'

/** Accepts requests that can make this call, and sets their `requester` and `actor`. */
export function authorize(
  d: Pick<HttpDeps, 'authenticate' | 'now' | 'service'>,
  call: CallName,
  { recalls = false }: { readonly recalls?: boolean } = {},
): MiddlewareHandler<Env> {
  const allow = allowAccess<Env>(d, { call, recalls }, refuse)
  return annotated<MiddlewareHandler<Env>>(
    (c, next) =>
      allow(c, () => {
        setActor(c, c.get('requester').actor)
        return next()
      }),
    {
      security: { projectKey: permissionsFor(call) },
      errors: ['unauthorized', 'forbidden', 'access_restricted', 'project_required', 'unavailable'],
    },
  )
}

type Guarded = {
  /** Without a secret, every request is refused. */
  readonly secret: string | undefined
  readonly scheme: SecurityScheme
  readonly kind: Extract<RequestError['kind'], `${string}_unauthorized`>
}

/**
 * Accepts requests whose bearer token is the secret. The comparison takes the same time for every
 * wrong token.
 */
export const authorizeSecret = (
  { crypto }: Pick<HttpDeps, 'crypto'>,
  { secret, scheme, kind }: Guarded,
): MiddlewareHandler<Env> =>
  annotated<MiddlewareHandler<Env>>(
    async (c, next) =>
      secret && crypto.equal(bearerToken(c.req.raw) ?? '', secret) ? next() : refuse(c, { kind }),
    { security: { [scheme]: [] }, errors: [kind] },
  )

/** Accepts requests with the operator key, or with a platform key that can make the call. */
export function authorizePlatform(
  d: Pick<HttpDeps, 'authenticate' | 'crypto' | 'now' | 'operatorKey' | 'service'>,
  call: CallName,
): MiddlewareHandler<Env> {
  const byOperator = authorizeOperator(d)
  const byPlatform = allowAccess<Env>(d, { call, isOfPlatform: true }, (c, error) =>
    refuse(c, isUnknown(error) ? { kind: 'operator_unauthorized' } : error),
  )
  return annotated<MiddlewareHandler<Env>>(
    (c, next) => {
      const token = bearerToken(c.req.raw)
      if (d.operatorKey && token !== undefined && d.crypto.equal(token, d.operatorKey))
        return byOperator(c, next)
      return byPlatform(c, () => {
        setActor(c, c.get('requester').actor)
        return next()
      })
    },
    {
      security: { operatorKey: [], platformKey: permissionsFor(call) },
      errors: ['operator_unauthorized', 'forbidden', 'unavailable'],
    },
  )
}

const isUnknown = ({ kind }: HttpError): boolean =>
  kind === 'unauthorized' || kind === 'platform_key_required'

/** Accepts requests with the operator key. API keys of projects are refused. */
export function authorizeOperator(
  d: Pick<HttpDeps, 'crypto' | 'operatorKey'>,
): MiddlewareHandler<Env> {
  const kind = 'operator_unauthorized'
  const check = authorizeSecret(d, { secret: d.operatorKey, scheme: 'operatorKey', kind })
  return annotated<MiddlewareHandler<Env>>(
    (c, next) =>
      check(c, () => {
        setActor(c, { kind: 'operator' })
        return next()
      }),
    { security: { operatorKey: [] }, errors: [kind, 'unavailable'] },
  )
}

/** Accepts every request. */
export const anyone: MiddlewareHandler<Env> = (_, next) => next()

/** A host that mounts the app can set another actor. */
const setActor = (c: RouteContext, actor: Actor): void =>
  c.set('actor', (c.get('actor') as Actor | undefined) ?? actor)
