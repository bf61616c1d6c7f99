import type { Context, MiddlewareHandler, TypedResponse } from 'hono'
import { refuseRevoked } from './authorize.js'
import { annotatedAs } from './document/describe-route.js'
import type { Env } from './env.js'

type InputOf<Check> = Check extends MiddlewareHandler<infer _E, infer _P, infer I> ? I : never
type RefusalOf<Check extends MiddlewareHandler> = Extract<Awaited<ReturnType<Check>>, TypedResponse>

/**
 * Combines checks and a handler into one Hono handler. Each check either accepts or refuses, and
 * ends before the next check starts. Hono's own chain keeps all checks in memory until the answer
 * is ready: more than half a kilobyte each for every waiting caller.
 * The last check defines the type of the input.
 */
export function checkedRoute<P extends string, Last extends MiddlewareHandler, R>(
  path: P,
  checks: [...MiddlewareHandler[], Last],
  handler: (c: Context<Env, P, InputOf<Last>>) => Promise<R>,
): [path: P, handler: (c: Context<Env, P, InputOf<Last>>) => Promise<R | RefusalOf<Last>>] {
  return [path, annotatedAs(checkAndHandle, checks)]

  async function checkAndHandle(c: Context<Env, P, InputOf<Last>>) {
    for (const check of checks) {
      const refusal = await refusalBy(check, c)
      if (refusal !== ACCEPTED) return refusal as RefusalOf<Last>
    }
    return handler(c)
  }
}

const ACCEPTED = Symbol('accepted')

/** A request with a revoked key is refused for that reason, whatever else is wrong with it. */
async function refusalBy(check: MiddlewareHandler, c: Context<Env>): Promise<unknown> {
  let isAccepted = false
  try {
    const refusal = await check(c as Context, async () => {
      isAccepted = true
    })
    return isAccepted ? ACCEPTED : ((await refuseRevoked(c)) ?? refusal)
  } catch (error) {
    const revoked = await refuseRevoked(c)
    if (revoked) return revoked
    throw error
  }
}
