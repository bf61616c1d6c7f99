/** The callers that wait until a worker has no work. */
export class IdleWaits {
  readonly #isIdle: () => boolean
  readonly #waiting: (() => void)[] = []

  constructor(isIdle: () => boolean) {
    this.#isIdle = isIdle
  }

  /** Resolves when the worker is idle. */
  wait(): Promise<void> {
    return this.#isIdle()
      ? Promise.resolve()
      : new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Ends the waits if the worker is idle now. */
  tell(): void {
    if (this.#waiting.length > 0 && this.#isIdle())
      for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
