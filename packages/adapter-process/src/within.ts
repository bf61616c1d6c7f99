/** What the promise resolves to; or `late` after so many milliseconds, or once the signal aborts. Leaves neither timer nor listener. */
export async function within<T, L>(
  ms: number,
  promise: Promise<T>,
  late: L,
  signal?: AbortSignal,
): Promise<T | L> {
  let giveUp = (): void => undefined
  const lateness = new Promise<L>((resolve) => {
    giveUp = () => resolve(late)
  })
  const timer = setTimeout(giveUp, signal?.aborted ? 0 : ms)
  signal?.addEventListener('abort', giveUp)
  try {
    return await Promise.race([promise, lateness])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', giveUp)
  }
}
