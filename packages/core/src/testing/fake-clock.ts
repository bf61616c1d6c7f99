import { toIso, type Instant } from '../domain/instant.js'
import type { Clock } from '../ports/platform.js'

/**
 * A clock that stands still until the test moves it. Sleepers wake in the order of their time, each at its own instant,
 * and what they set off gets its turns before time moves on. It uses no timer, so code that waits for real input or output
 * (a socket, a file) is not waited for: give it a turn through an asynchronous condition of `until`.
 */
export type FakeClock = Clock & {
  /**
   * Moves time on by `ms`. Resolves when everything due by then has run as far as it can.
   * Throws when that has no end: code that sleeps 0 ms in a loop, or keeps asking for the time without sleeping.
   */
  advance(ms: number): Promise<void>
  /** Advances in steps until the condition holds; throws, naming it and who still sleeps, when it does not within `maxMs`. */
  until(
    condition: () => boolean | Promise<boolean>,
    options?: { readonly maxMs?: number; readonly stepMs?: number },
  ): Promise<void>
  /** Changes the time of day, as an operator or NTP does: sleepers notice nothing. */
  set(now: Instant): void
  /** How many sleep now. */
  readonly sleepers: number
}

type Sleeper = { readonly dueAt: number; wake(): void }

const DEFAULT_START = Date.UTC(2030, 0, 1)
/** So many turns of the promise queue without a look at the clock count as rest. */
const QUIET_TURNS = 200
const MAX_ROUNDS_WITHOUT_REST = 1_000
const MAX_WAKES_AT_ONE_INSTANT = 50_000

export function fakeClock(start: Instant = DEFAULT_START): FakeClock {
  const sleepers = new Set<Sleeper>()
  let elapsed = 0
  let startedAt = start
  let uses = 0
  let isAdvancing = false

  /** Lets promise chains run until nobody has used the clock for a while. */
  async function settle(): Promise<void> {
    let seen = -1
    for (let rounds = 0; seen !== uses; rounds++) {
      if (rounds > MAX_ROUNDS_WITHOUT_REST)
        throw new Error('fake clock: something keeps asking for the time without ever sleeping')
      seen = uses
      for (let turn = 0; turn < QUIET_TURNS; turn++) await Promise.resolve()
    }
  }

  function nextSleeper(): Sleeper | undefined {
    let next: Sleeper | undefined
    for (const sleeper of sleepers) if (!next || sleeper.dueAt < next.dueAt) next = sleeper
    return next
  }

  async function wakeAllDue(end: number): Promise<void> {
    let wakes = 0
    for (let next = nextSleeper(); next && next.dueAt <= end; next = nextSleeper()) {
      wakes = next.dueAt > elapsed ? 0 : wakes + 1
      if (wakes > MAX_WAKES_AT_ONE_INSTANT)
        throw new Error('fake clock: something sleeps 0 ms in a loop, so time cannot move on')
      elapsed = Math.max(elapsed, next.dueAt)
      next.wake()
      await settle()
    }
    elapsed = end
  }

  async function advance(ms: number): Promise<void> {
    if (!(ms >= 0))
      throw new RangeError(
        `fake clock: cannot advance by ${ms} ms; set() moves the time of day back`,
      )
    if (isAdvancing) throw new Error('fake clock: advance() is still under way: await it first')
    isAdvancing = true
    try {
      await settle()
      await wakeAllDue(elapsed + ms)
    } finally {
      isAdvancing = false
    }
  }

  function whoSleeps(): string {
    const next = nextSleeper()
    return next
      ? `${sleepers.size} sleep, the next one for another ${next.dueAt - elapsed} ms`
      : 'nobody sleeps, so time alone changes nothing'
  }

  return {
    now: () => {
      uses++
      return startedAt + elapsed
    },
    sleep: (ms, signal) => {
      uses++
      if (Number.isNaN(ms)) throw new RangeError('fake clock: sleep(NaN)')
      if (signal?.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = (): void => {
          sleepers.delete(sleeper)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper = { dueAt: elapsed + Math.max(0, ms), wake }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', wake)
      })
    },
    advance,
    until: async (condition, { maxMs = 60_000, stepMs = 100 } = {}) => {
      await advance(0)
      for (let waited = 0; !(await condition()); waited += stepMs) {
        const now = toIso(startedAt + elapsed)
        if (waited >= maxMs)
          throw new Error(
            `fake clock: after ${maxMs} ms, at ${now}, still not: ${String(condition)}; ${whoSleeps()}`,
          )
        await advance(stepMs)
      }
    },
    set: (now) => {
      startedAt = now - elapsed
    },
    get sleepers() {
      return sleepers.size
    },
  }
}
