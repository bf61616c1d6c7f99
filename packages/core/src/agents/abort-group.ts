/**
 * Work that is aborted together. Each piece of work gets a separate signal: Node warns of a leak
 * when more than ten listeners share one.
 */
export class AbortGroup {
  readonly #aborters = new Set<AbortController>()
  #reason: string | undefined

  get aborted(): boolean {
    return this.#reason !== undefined
  }

  /**
   * Runs the work. Its controller is aborted with the group, or at once if the group already is.
   */
  async run<T>(work: (aborter: AbortController) => Promise<T>): Promise<T> {
    const aborter = new AbortController()
    if (this.#reason !== undefined) aborter.abort(this.#reason)
    this.#aborters.add(aborter)
    try {
      return await work(aborter)
    } finally {
      this.#aborters.delete(aborter)
    }
  }

  abort(reason: string): void {
    this.#reason = reason
    for (const aborter of this.#aborters) aborter.abort(reason)
  }
}
