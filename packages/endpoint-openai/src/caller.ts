import type { Context } from 'hono'
import type { Env } from './env.js'

/** The bindings of @hono/node-server. */
type NodeBindings = {
  readonly incoming?: { readonly socket?: { readonly destroyed: boolean } | null }
}

/** Tells whether the caller has left. On Node, its socket costs less than an abort signal. */
export class Caller {
  readonly #c: Context<Env>

  constructor(c: Context<Env>) {
    this.#c = c
  }

  get aborted(): boolean {
    const { env, req } = this.#c
    return (env as NodeBindings | undefined)?.incoming?.socket?.destroyed ?? req.raw.signal.aborted
  }
}
