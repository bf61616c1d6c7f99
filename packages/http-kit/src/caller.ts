import type { Context } from 'hono'
import type { Requester } from './requester.js'

/** The bindings of @hono/node-server. */
type NodeBindings = {
  readonly incoming?: { readonly socket?: { readonly destroyed: boolean } | null }
}

/**
 * Tells whether the caller has left. On Node, its socket tells: an abort signal would cost one more
 * kilobyte for every waiting caller.
 */
export class Caller {
  readonly #c: Pick<Context, 'env' | 'req'>
  readonly #requester: Requester | undefined

  /** With `requester`, a caller whose access has ended has left, too. */
  constructor(c: Pick<Context, 'env' | 'req'>, requester?: Requester) {
    this.#c = c
    this.#requester = requester
  }

  get aborted(): boolean {
    if (this.#requester?.hasEnded?.()) return true
    const { env, req } = this.#c
    return (env as NodeBindings | undefined)?.incoming?.socket?.destroyed ?? req.raw.signal.aborted
  }
}
