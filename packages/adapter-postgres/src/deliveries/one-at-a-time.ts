/** Runs the work of each key in the order of the calls, one at a time, also after a failure. */
export class OneAtATime {
  /** The last work of each key. */
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(key: string, work: () => PromiseLike<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work)
    const ended: Promise<unknown> = result
      .catch(() => undefined)
      .then(() => {
        if (this.#last.get(key) === ended) this.#last.delete(key)
      })
    this.#last.set(key, ended)
    return result
  }
}
