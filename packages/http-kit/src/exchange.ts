import type { MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import type { KitContext } from './access.js'
import type { ErrorCode } from './error-codes.js'

/** One request, for a log line or a metric. */
export type RequestFacts = {
  readonly method: string
  /** The route's pattern, not the path. Empty if no route matched. */
  readonly route: string
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
  /** Absent if the request was refused before its API key was read. */
  readonly projectId?: string
  readonly errorCode?: ErrorCode
  /** Why the storage is unavailable. The operator sees the reason, the caller does not. */
  readonly reason?: string
}

/** A context of Hono, whatever else its variables are. */
export type Exchanged = { get(name: 'requestId'): string }

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/

type Exchange = {
  readonly newId: () => string
  readonly now: () => number
  readonly onRequest?: ((facts: RequestFacts) => void) | undefined
}

/** Gives the request its id, and reports the request when its answer is ready. */
export const exchange =
  ({ newId, now, onRequest }: Exchange): MiddlewareHandler =>
  async (c, next) => {
    const startedAt = now()
    const sent = c.req.header('x-request-id')
    c.set('requestId', sent !== undefined && REQUEST_ID.test(sent) ? sent : newId())
    await next()
    onRequest?.(factsOf(c, now() - startedAt))
  }

function factsOf(c: KitContext, durationMs: number): RequestFacts {
  const projectId = c.get('projectId') as string | undefined
  return {
    method: c.req.method,
    route: routePath(c),
    status: c.res.status,
    durationMs,
    requestId: c.get('requestId'),
    ...(projectId !== undefined && { projectId }),
    ...c.get('refusal'),
  }
}
