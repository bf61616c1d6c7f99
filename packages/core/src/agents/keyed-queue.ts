/** Runs the work of each key one after the other, in the order of the calls. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<void>>()
  readonly #onError: (key: string, error: unknown) => void

  /** `onError` gets the errors that work throws. */
  constructor(onError: (key: string, error: unknown) => void) {
    this.#onError = onError
  }

  /** Resolves when the work has ended. Never rejects. */
  run(key: string, work: () => Promise<void>): Promise<void> {
    const done = (this.#last.get(key) ?? Promise.resolve())
      .then(work)
      .catch((error: unknown) => this.#onError(key, error))
      .finally(() => {
        if (this.#last.get(key) === done) this.#last.delete(key)
      })
    this.#last.set(key, done)
    return done
  }

  /** Returns the key's last work that has not ended. */
  last(key: string): Promise<void> | undefined {
    return this.#last.get(key)
  }

  /** The keys with work that has not ended. */
  keys(): string[] {
    return [...this.#last.keys()]
  }
}
