import type { MadeAttempt } from '@org/agent-messaging-core/runtime'

export type NumberedResults = readonly (readonly [number, MadeAttempt])[]

/** Results that can wait are posted this long after the first one, or with another one. */
const WAIT_MS = 40

/**
 * Collects results of attempts, because each message wakes the other thread. Posts the results of
 * one turn of the event loop in one message, with those that waited.
 */
export class Results {
  readonly #post: (results: NumberedResults) => void
  #results: [number, MadeAttempt][] = []
  #later: NodeJS.Timeout | undefined
  #soon: NodeJS.Immediate | undefined

  constructor(post: (results: NumberedResults) => void) {
    this.#post = post
  }

  add(number: number, made: MadeAttempt, canWait: boolean): void {
    this.#results.push([number, made])
    if (canWait && made.outcome.kind === 'accepted')
      this.#later ??= setTimeout(() => this.post(), WAIT_MS)
    else this.#soon ??= setImmediate(() => this.post())
  }

  /** Posts the results that wait. */
  post(): void {
    clearTimeout(this.#later)
    clearImmediate(this.#soon)
    this.#later = undefined
    this.#soon = undefined
    this.#post(this.#results)
    this.#results = []
  }
}
