/** Keeps the newest entries, at most `most`. */
export class Recent<T> {
  readonly #most: number
  readonly #entries = new Map<string, T>()

  constructor(most: number) {
    this.#most = most
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)
  }

  set(key: string, entry: T): void {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    if (this.#entries.size <= this.#most) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      return
    }
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}
