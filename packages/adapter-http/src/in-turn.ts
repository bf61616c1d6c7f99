import type { Context, MiddlewareHandler, Next } from 'hono'
import { notedAs } from './document/describe-route.js'

/**
 * Handlers that only let through or refuse, as one, which has the type of the last. Each ends before the next begins, where Hono's
 * chain keeps them all until the answer is there: that costs a caller who waits for it more than half a kilobyte a handler.
 */
export function inTurn<Last extends MiddlewareHandler>(...handlers: [...MiddlewareHandler[], Last]): Last {
  return notedAs(all, handlers) as Last

  async function all(c: Context, next: Next) {
    for (const handler of handlers) {
      let isThrough = false
      const refusal = await handler(c, async () => {
        isThrough = true
      })
      if (!isThrough) return refusal
    }
    return next()
  }
}
