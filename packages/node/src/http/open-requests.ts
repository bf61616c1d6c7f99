import { setTimeout as delay } from 'node:timers/promises'

/** The requests that are being answered. A stop waits for them before it closes the database. */
export class OpenRequests {
  readonly #answers = new Set<Promise<unknown>>()

  add<T>(answer: Promise<T>): Promise<T> {
    const ended = answer.then(ignore, ignore)
    this.#answers.add(ended)
    void ended.then(() => this.#answers.delete(ended))
    return answer
  }

  /** Resolves when all are answered, or after `ms`. */
  async end(ms: number): Promise<void> {
    const answered = new AbortController()
    const isOver = delay(ms, true, { signal: answered.signal }).catch(ignore)
    while (this.#answers.size > 0) {
      if ((await Promise.race([Promise.all(this.#answers), isOver])) === true) return
    }
    answered.abort()
  }
}

const ignore = () => undefined
