import type { Context } from 'hono'
import type { Requester } from './requester.js'

/** The bindings of @hono/node-server. */
type NodeBindings = {
  readonly incoming?: { readonly socket?: { readonly destroyed: boolean } | null }
}

export type Asking = Pick<Context, 'env' | 'req' | 'get'>

/**
 * Tells whether the caller has left, or the access of the caller has ended. On Node, its socket tells: an abort signal would cost one more
 * kilobyte for every waiting caller.
 */
export class Caller {
  readonly #c: Asking

  constructor(c: Asking) {
    this.#c = c
  }

  get aborted(): boolean {
    const requester = this.#c.get('requester') as Requester | undefined
    if (requester?.hasEnded?.()) return true
    const { env, req } = this.#c
    return (env as NodeBindings | undefined)?.incoming?.socket?.destroyed ?? req.raw.signal.aborted
  }
}
