import { Fault } from './fault.js'

/** The work of one agent that is not done yet, so that `stop` can end it. */
export type UnderWay = {
  /** Does the work with a signal that aborts with the caller's, with `stop`, and when the time is up; then its reason is a `Fault`. */
  add<T>(
    callers: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
    timeoutMs?: number,
  ): Promise<T>
  /** Ends everything, and settles when it has ended. Never rejects. */
  stop(): Promise<void>
}

export function underWay(): UnderWay {
  const works = new Map<AbortController, Promise<unknown>>()

  async function add<T>(
    callers: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
    timeoutMs?: number,
  ): Promise<T> {
    const aborter = new AbortController()
    const abort = () => aborter.abort(callers.reason)
    if (callers.aborted) abort()
    callers.addEventListener('abort', abort)
    const timer =
      timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs, aborter, timeoutMs)
    try {
      const done = work(aborter.signal)
      works.set(aborter, done)
      return await done
    } finally {
      works.delete(aborter)
      clearTimeout(timer)
      callers.removeEventListener('abort', abort)
    }
  }

  async function stop(): Promise<void> {
    for (const aborter of works.keys()) aborter.abort()
    await Promise.allSettled(works.values())
  }

  return { add, stop }
}

const expire = (aborter: AbortController, timeoutMs: number): void =>
  aborter.abort(new Fault('timeout', `no complete answer within ${timeoutMs} ms`))
