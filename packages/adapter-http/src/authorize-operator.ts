import type { Actor } from '@org/agent-messaging-core'
import { bearerToken } from '@org/agent-messaging-http-kit'
import type { MiddlewareHandler } from 'hono'
import { annotated } from './document/describe-route.js'
import type { Env } from './env.js'
import { refuse } from './errors.js'
import type { HttpDeps } from './options.js'

/**
 * Accepts requests with the operator key. The comparison takes the same time for every wrong key.
 * API keys of projects are refused, and so is every request if no operator key is set.
 */
export const authorizeOperator = ({
  crypto,
  operatorKey,
}: Pick<HttpDeps, 'crypto' | 'operatorKey'>): MiddlewareHandler<Env> =>
  annotated(
    async (c, next) => {
      const sent = bearerToken(c.req.raw) ?? ''
      if (!operatorKey || !crypto.equal(sent, operatorKey))
        return refuse(c, { kind: 'operator_unauthorized' })
      c.set('actor', (c.get('actor') as Actor | undefined) ?? { kind: 'operator' })
      return next()
    },
    { security: { operatorKey: [] }, errors: ['operator_unauthorized', 'unavailable'] },
  )
