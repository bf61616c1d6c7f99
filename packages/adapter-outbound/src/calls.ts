import { Fault } from './fault.js'

/** The running calls to one agent, so that `stop` can end them. */
export class Calls {
  readonly #running = new Map<AbortController, Promise<unknown>>()

  /**
   * Runs a call with a signal that aborts with the caller's, on `stop`, and after `timeoutMs` with
   * a `Fault`.
   */
  async run<T>(
    caller: AbortSignal,
    call: (signal: AbortSignal) => Promise<T>,
    timeoutMs?: number,
  ): Promise<T> {
    const aborter = new AbortController()
    const abort = () => aborter.abort(caller.reason)
    if (caller.aborted) abort()
    caller.addEventListener('abort', abort)
    const timer =
      timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs, aborter, timeoutMs)
    try {
      const running = call(aborter.signal)
      this.#running.set(aborter, running)
      return await running
    } finally {
      this.#running.delete(aborter)
      clearTimeout(timer)
      caller.removeEventListener('abort', abort)
    }
  }

  /** Aborts every call and waits until all have ended. Never rejects. */
  async stop(): Promise<void> {
    for (const aborter of this.#running.keys()) aborter.abort()
    await Promise.allSettled(this.#running.values())
  }
}

const expire = (aborter: AbortController, timeoutMs: number) =>
  aborter.abort(new Fault('timeout', `no complete response within ${timeoutMs} ms`))
