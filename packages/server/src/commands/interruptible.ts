const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Work that leaves nothing behind when it is aborted. A signal aborts it, and then ends the process as it would have; a second one, at once. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const { signal } = controller
  const abort = (name: NodeJS.Signals): void => controller.abort(name)
  for (const name of SIGNALS) process.once(name, abort)
  try {
    return await work(signal)
  } finally {
    for (const name of SIGNALS) process.off(name, abort)
    if (signal.aborted) process.kill(process.pid, signal.reason as NodeJS.Signals)
  }
}
