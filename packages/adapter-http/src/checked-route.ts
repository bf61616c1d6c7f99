import type { Context, MiddlewareHandler, TypedResponse } from 'hono'
import { notedAs } from './document/describe-route.js'
import type { Env } from './env.js'

type InputOf<Check> = Check extends MiddlewareHandler<infer _E, infer _P, infer I> ? I : never
type RefusalOf<Check extends MiddlewareHandler> = Extract<Awaited<ReturnType<Check>>, TypedResponse>

/**
 * A route whose checks, which only let through or refuse, and whose handler are one handler in Hono's eyes: each ends before the next
 * begins. In Hono's chain all are kept until the answer is there, at more than half a kilobyte each of a caller who waits for it.
 * The last check gives the input its type.
 */
export function checkedRoute<P extends string, Last extends MiddlewareHandler, R>(
  path: P,
  checks: [...MiddlewareHandler[], Last],
  handler: (c: Context<Env, P, InputOf<Last>>) => Promise<R>,
): [path: P, handler: (c: Context<Env, P, InputOf<Last>>) => Promise<R | RefusalOf<Last>>] {
  return [path, notedAs(all, checks)]

  async function all(c: Context<Env, P, InputOf<Last>>) {
    for (const check of checks) {
      let isThrough = false
      const refusal = await check(c as Context, async () => {
        isThrough = true
      })
      if (!isThrough) return refusal as RefusalOf<Last>
    }
    return handler(c)
  }
}
