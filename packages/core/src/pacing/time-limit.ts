import { err, type Result } from 'neverthrow'
import { ShortLivedMap } from '../domain/values/short-lived-map.js'
import type { Clock } from '../ports/platform.js'
import { UNCONFIRMED, type Unavailable } from '../ports/stored.js'
import { Alarm } from './alarm.js'

type TimedCaller = { readonly deadline: number; readonly giveUp: () => void }

/**
 * Answers callers whose work has not ended within a time. The work continues. One timer serves all
 * callers.
 */
export class TimeLimit {
  readonly #clock: Clock
  readonly #limitMs: number
  /** By number, in the order of their deadlines. */
  readonly #callers = new ShortLivedMap<number, TimedCaller>()
  readonly #alarm: Alarm
  #lastNumber = 0

  /** After `stopped`, no work has a limit. */
  constructor(clock: Clock, limitMs: number, stopped?: AbortSignal) {
    this.#clock = clock
    this.#limitMs = limitMs
    this.#alarm = new Alarm(clock, () => this.#giveUpLate(), stopped)
  }

  /** `late` gets the result of work that ends after its caller was answered. */
  watch<T, E>(
    work: Promise<Result<T, E>>,
    late: (result: Result<T, E>) => void,
  ): Promise<Result<T, E | Unavailable>> {
    const number = ++this.#lastNumber
    const deadline = this.#clock.elapsed() + this.#limitMs
    this.#alarm.set(deadline)
    return new Promise((resolve) => {
      const giveUp = (): void => resolve(err({ kind: 'unavailable', reason: UNCONFIRMED }))
      this.#callers.set(number, { deadline, giveUp })
      work.then(
        (result) => (this.#callers.delete(number) ? resolve(result) : late(result)),
        () => {
          this.#callers.delete(number)
          resolve(work)
        },
      )
    })
  }

  #giveUpLate(): void {
    const now = this.#clock.elapsed()
    for (const number of [...this.#callers.keys()]) {
      const caller = this.#callers.get(number)
      if (!caller) continue
      if (caller.deadline > now) return this.#alarm.set(caller.deadline)
      this.#callers.delete(number)
      caller.giveUp()
    }
  }
}
