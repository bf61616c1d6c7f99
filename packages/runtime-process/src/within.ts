/** Returns the promise's value, or `late` after `ms` or when the signal aborts. */
export async function within<T, L>(
  ms: number,
  promise: Promise<T>,
  late: L,
  signal?: AbortSignal,
): Promise<T | L> {
  let expire = (): void => undefined
  const expired = new Promise<L>((resolve) => {
    expire = () => resolve(late)
  })
  const timer = setTimeout(expire, signal?.aborted ? 0 : ms)
  signal?.addEventListener('abort', expire)
  try {
    return await Promise.race([promise, expired])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', expire)
  }
}
