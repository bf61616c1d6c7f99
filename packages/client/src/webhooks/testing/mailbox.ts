type Waiting<T> = { readonly fits: (one: T) => boolean; readonly take: (one: T) => void }

export type Mailbox<T> = {
  /** Everything that was ever put in, the oldest first. */
  readonly all: readonly T[]
  put(one: T): void
  /** The oldest that fits and nobody took, now or within `timeoutMs`; else rejects with what `late` says then. */
  take(fits: (one: T) => boolean, timeoutMs: number, late: () => string): Promise<T>
}

export function mailbox<T>(): Mailbox<T> {
  const all: T[] = []
  const untaken: T[] = []
  const waiting: Waiting<T>[] = []

  function put(one: T): void {
    all.push(one)
    const index = waiting.findIndex(({ fits }) => fits(one))
    const [first] = index < 0 ? [] : waiting.splice(index, 1)
    if (first) first.take(one)
    else untaken.push(one)
  }

  async function take(
    fits: (one: T) => boolean,
    timeoutMs: number,
    late: () => string,
  ): Promise<T> {
    const index = untaken.findIndex(fits)
    const [there] = index < 0 ? [] : untaken.splice(index, 1)
    if (there !== undefined) return there
    return new Promise((resolve, reject) => {
      const seat: Waiting<T> = {
        fits,
        take: (one) => {
          clearTimeout(timer)
          resolve(one)
        },
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(seat), 1)
        reject(new Error(late()))
      }, timeoutMs)
      waiting.push(seat)
    })
  }

  return { all, put, take }
}
