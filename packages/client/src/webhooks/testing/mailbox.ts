type Waiter<T> = { readonly matches: (item: T) => boolean; readonly resolve: (item: T) => void }

/** Items that tests take one by one, now or when they arrive. */
export class Mailbox<T> {
  /** All items that ever arrived, the oldest first. */
  readonly all: T[] = []
  readonly #untaken: T[] = []
  readonly #waiters: Waiter<T>[] = []

  put(item: T): void {
    this.all.push(item)
    const index = this.#waiters.findIndex(({ matches }) => matches(item))
    const [waiter] = index < 0 ? [] : this.#waiters.splice(index, 1)
    if (waiter) waiter.resolve(item)
    else this.#untaken.push(item)
  }

  /** Takes the oldest matching item. Rejects with `describeTimeout()` if none arrives in time. */
  async take(
    matches: (item: T) => boolean,
    timeoutMs: number,
    describeTimeout: () => string,
  ): Promise<T> {
    const index = this.#untaken.findIndex(matches)
    const [found] = index < 0 ? [] : this.#untaken.splice(index, 1)
    if (found !== undefined) return found
    return new Promise((resolve, reject) => {
      const waiter: Waiter<T> = {
        matches,
        resolve: (item) => {
          clearTimeout(timer)
          resolve(item)
        },
      }
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
        reject(new Error(describeTimeout()))
      }, timeoutMs)
      this.#waiters.push(waiter)
    })
  }
}
