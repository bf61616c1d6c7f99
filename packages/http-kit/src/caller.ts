import type { Context } from 'hono'

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

  constructor(c: Pick<Context, 'env' | 'req'>) {
    this.#c = c
  }

  get aborted(): boolean {
    const { env, req } = this.#c
    return (env as NodeBindings | undefined)?.incoming?.socket?.destroyed ?? req.raw.signal.aborted
  }
}
