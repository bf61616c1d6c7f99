import { err, type Result } from 'neverthrow'
import type { Clock } from '../ports/platform.js'
import { OVERLOAD, type Unavailable } from '../ports/stored.js'
import { Alarm } from './alarm.js'
import { TimeLimit } from './time-limit.js'
import { WaitingTurns, type Turn, type WaitingLimits, type WaitingTurn } from './waiting-turns.js'

export type TurnLimits = WaitingLimits & {
  /** Work that runs at once. */
  readonly places: number
  /** Work that waits longer is refused. */
  readonly maxWaitMs: number
  /**
   * After this time of work, the event loop turns before more work starts. For work that blocks the
   * event loop. Default: never.
   */
  readonly turnMs?: number
  /**
   * The caller of work that runs longer gets an error. The work continues and keeps its place.
   * Default: never.
   */
  readonly maxRunMs?: number
  /** After it, nothing waits for `maxRunMs`. */
  readonly stopped?: AbortSignal
}

/**
 * Shares places between groups, such as projects. Groups with waiting work get places in turn.
 * Work of one group starts in its order. If too much waits, work of the group that has most is
 * refused. The error has `retryInMs`, which is the time that the waiting work of the group needs at
 * the present rate.
 */
export class TurnQueue {
  readonly #clock: Clock
  readonly #limits: TurnLimits
  readonly #rate: CommitRate
  readonly #waiting: WaitingTurns
  readonly #timeLimit: TimeLimit | undefined
  /** Rings when the oldest work is late. Absent if no work waits. */
  #alarm: Alarm | undefined
  #running = 0
  /** Milliseconds of work since the event loop turned. */
  #workedMs = 0
  #isTurning = false

  constructor(clock: Clock, limits: TurnLimits) {
    this.#clock = clock
    this.#limits = limits
    this.#rate = new CommitRate(clock.elapsed())
    this.#waiting = new WaitingTurns(limits)
    const { maxRunMs, stopped } = limits
    this.#timeLimit = maxRunMs === undefined ? undefined : new TimeLimit(clock, maxRunMs, stopped)
  }

  /** The work that waits. */
  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Runs the work when its turn comes, and returns its result. Can start it before it returns.
   * `late` gets the result of work that ends after `maxRunMs`.
   */
  run<T, E>(
    turn: Turn,
    work: () => PromiseLike<Result<T, E>>,
    late: (result: Result<T, E>) => void = () => undefined,
  ): Promise<Result<T, E | Unavailable>> {
    const start = (): Promise<Result<T, E | Unavailable>> => {
      const running = this.#start(turn.group, work)
      return this.#timeLimit ? this.#timeLimit.watch(running, late) : running
    }
    if (this.#waiting.size === 0 && this.#hasPlace() && this.#waiting.hasPlace(turn.group))
      return start()
    return new Promise((resolve, reject) => {
      this.#wait({
        turn,
        bytes: turn.bytes?.() ?? 0,
        deadline: this.#clock.elapsed() + this.#limits.maxWaitMs,
        start: () => void start().then(resolve, reject),
        refuse: (error) => resolve(err(error)),
      })
    })
  }

  async #start<R>(group: string, work: () => PromiseLike<R>): Promise<R> {
    const startedAt = this.#clock.elapsed()
    this.#running++
    this.#waiting.take(group)
    try {
      return await work()
    } finally {
      this.#running--
      this.#waiting.leave(group)
      const now = this.#clock.elapsed()
      this.#rate.ended(now)
      this.#workedMs += now - startedAt
      this.#startNext()
    }
  }

  #wait(waiting: WaitingTurn): void {
    for (const refused of this.#waiting.add(waiting)) refused.refuse(this.#overload(refused))
    this.#alarm ??= new Alarm(this.#clock, () => this.#refuseLate())
    this.#alarm.set(waiting.deadline)
    this.#startNext()
  }

  #hasPlace(): boolean {
    const { places, turnMs = Infinity } = this.#limits
    if (this.#isTurning) return false
    return this.#workedMs >= turnMs ? this.#turn() : this.#running < places
  }

  /** Lets the event loop turn. */
  #turn(): false {
    this.#isTurning = true
    void this.#clock.sleep(0).then(() => {
      this.#isTurning = false
      this.#workedMs = 0
      this.#startNext()
    })
    return false
  }

  #startNext(): void {
    while (this.#waiting.size > 0 && this.#hasPlace()) {
      const next = this.#waiting.next()
      if (!next) return
      if (next.turn.caller?.aborted) next.refuse(this.#overload(next))
      else next.start()
    }
    if (this.#waiting.size > 0) return
    this.#alarm?.stop()
    this.#alarm = undefined
  }

  #refuseLate(): void {
    const now = this.#clock.elapsed()
    for (const late of this.#waiting.removeUntil(now)) late.refuse(this.#overload(late))
    if (this.#waiting.size > 0) this.#alarm?.set(this.#waiting.firstDeadline)
  }

  #overload({ turn: { group } }: WaitingTurn): Unavailable {
    const { ofGroup, groups } = this.#waiting.share(group)
    const rate = this.#rate.perMs(this.#clock.elapsed())
    const retryInMs = Math.min((ofGroup * groups) / rate, this.#limits.maxWaitMs)
    return { kind: 'unavailable', reason: OVERLOAD, retryInMs: Math.ceil(retryInMs) }
  }
}

const WINDOW_MS = 250

/** Measures how much work ends per millisecond. Pure: every method gets the time. */
class CommitRate {
  #start: number
  #ended = 0
  #last = 0

  constructor(now: number) {
    this.#start = now
  }

  ended(now: number): void {
    this.#ended++
    if (now - this.#start >= WINDOW_MS) this.#endWindow(now)
  }

  /** The rate of the last window, or of the present one if that is higher. */
  perMs(now: number): number {
    if (now - this.#start >= 2 * WINDOW_MS) this.#endWindow(now)
    return Math.max(this.#last, this.#ended / WINDOW_MS)
  }

  #endWindow(now: number): void {
    this.#last = this.#ended / (now - this.#start)
    this.#start = now
    this.#ended = 0
  }
}
