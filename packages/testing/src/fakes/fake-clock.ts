import type { Instant } from '@org/agent-messaging-core'
import type { Clock } from '@org/agent-messaging-core/runtime'
import { toIso } from '@org/agent-messaging-core/storage'

/**
 * A clock that stands still until the test moves it. Sleepers wake in the order of their times,
 * each at its time. The code that a sleeper resumes runs before the time moves on. The clock uses
 * no timer, so it does not wait for a socket or a file: give such work a turn with an asynchronous
 * condition of `until`.
 */
export type FakeClock = Clock & {
  /**
   * Moves the time on by `ms`. Resolves when all due code has run as far as it can. Throws if that
   * never ends: if code sleeps 0 ms in a loop, or asks for the time without sleeping.
   */
  advance(ms: number): Promise<void>
  /**
   * Advances in steps until the condition holds. Throws, with the condition and the sleepers,
   * after `maxMs`.
   */
  until(
    condition: () => boolean | Promise<boolean>,
    options?: { readonly maxMs?: number; readonly stepMs?: number },
  ): Promise<void>
  /** Changes the time of day, as an operator or NTP does. Sleepers do not notice. */
  set(now: Instant): void
  /** The number of sleepers. */
  readonly sleepers: number
}

type Sleeper = { readonly dueAt: number; wake(): void }

const DEFAULT_START = Date.UTC(2030, 0, 1)
const MAX_USES_WITHOUT_REST = 100_000
const MAX_WAKES_AT_ONE_INSTANT = 50_000

export const fakeClock = (start: Instant = DEFAULT_START): FakeClock => new SteppedClock(start)

class SteppedClock implements FakeClock {
  readonly #sleepers = new Set<Sleeper>()
  /** Milliseconds since the start, without changes of the time of day. */
  #elapsed = 0
  #startedAt: Instant
  /** Uses since the code rested. */
  #uses = 0
  #isAdvancing = false
  #refuse = (_: Error): void => undefined

  constructor(start: Instant) {
    this.#startedAt = start
  }

  get sleepers(): number {
    return this.#sleepers.size
  }

  readonly now = (): Instant => {
    this.#use()
    return this.#startedAt + this.#elapsed
  }

  readonly elapsed = (): number => {
    this.#use()
    return this.#elapsed
  }

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    this.#use()
    if (Number.isNaN(ms)) throw new RangeError('fake clock: sleep(NaN)')
    if (signal?.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const sleeper = { dueAt: this.#elapsed + Math.max(0, ms), wake }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', wake)
    })
  }

  readonly advance = async (ms: number): Promise<void> => {
    if (!(ms >= 0))
      throw new RangeError(
        `fake clock: cannot advance by ${ms} ms; set() moves the time of day back`,
      )
    if (this.#isAdvancing)
      throw new Error('fake clock: advance() is still under way: await it first')
    this.#isAdvancing = true
    try {
      await this.#settle()
      await this.#wakeAllDue(this.#elapsed + ms)
    } finally {
      this.#isAdvancing = false
    }
  }

  readonly until: FakeClock['until'] = async (condition, { maxMs = 60_000, stepMs = 100 } = {}) => {
    await this.advance(0)
    for (let waited = 0; !(await condition()); waited += stepMs) {
      const now = toIso(this.#startedAt + this.#elapsed)
      if (waited >= maxMs)
        throw new Error(
          `fake clock: after ${maxMs} ms, at ${now}, still not: ${String(condition)}; ${this.#describeSleepers()}`,
        )
      await this.advance(stepMs)
    }
  }

  readonly set = (now: Instant): void => {
    this.#startedAt = now - this.#elapsed
  }

  #use(): void {
    if (++this.#uses === MAX_USES_WITHOUT_REST)
      this.#refuse(new Error('fake clock: the code keeps asking for the time without a sleep'))
  }

  /** Lets promise chains run to their ends: Node's next tick comes after the last of them. */
  async #settle(): Promise<void> {
    let seen = -1
    for (this.#uses = 0; seen !== this.#uses;) {
      seen = this.#uses
      await new Promise<void>((resolve, reject) => {
        this.#refuse = reject
        // oxlint-disable-next-line no-restricted-globals -- vitest runs on Node, and no promise comes last
        process.nextTick(resolve)
      })
    }
  }

  async #wakeAllDue(end: number): Promise<void> {
    let wakes = 0
    let next = this.#nextSleeper()
    while (next && next.dueAt <= end) {
      wakes = next.dueAt > this.#elapsed ? 0 : wakes + 1
      if (wakes > MAX_WAKES_AT_ONE_INSTANT)
        throw new Error('fake clock: the code sleeps 0 ms in a loop, so the time cannot move on')
      this.#elapsed = Math.max(this.#elapsed, next.dueAt)
      next.wake()
      await this.#settle()
      next = this.#nextSleeper()
    }
    this.#elapsed = end
  }

  #nextSleeper(): Sleeper | undefined {
    let next: Sleeper | undefined
    for (const sleeper of this.#sleepers) if (!next || sleeper.dueAt < next.dueAt) next = sleeper
    return next
  }

  #describeSleepers(): string {
    const next = this.#nextSleeper()
    return next
      ? `${this.sleepers} sleep, the next one for another ${next.dueAt - this.#elapsed} ms`
      : 'no code sleeps, so time alone changes nothing'
  }
}
