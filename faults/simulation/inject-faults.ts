import type { FaultLog } from './fault-log.js'
import type { Process } from './process.js'
import type { FailureRates } from './failure-rates.js'
import type { Timeline } from './timeline.js'

/** Faults of processes, the store and the clock, one after the other until `end`. */
export type FaultInjection = {
  end(): void
}

type InjectionOptions = {
  readonly timeline: Timeline
  readonly rates: FailureRates
  readonly faults: FaultLog
  readonly processes: Process[]
  /** Replaces a process that has ended. */
  restart(place: number): void
}

const PAUSE_MS = 6_000
const DEAD_MS = 5_000
const AWAY_MS = 6_000
const FROZEN_MS = 10_000
const JUMP_MS = 15_000
const GRACE_MS = 2_000

export function startFaultInjection({
  timeline,
  rates,
  faults,
  processes,
  restart,
}: InjectionOptions): FaultInjection {
  const { dice } = timeline
  let isOver = false

  const pickOne = (): [place: number, Process | undefined] => {
    const place = dice.below(processes.length)
    const process = processes[place]
    return [place, process?.isAlive ? process : undefined]
  }

  function crash(): void {
    const [place, process] = pickOne()
    if (!process) return
    const deadMs = dice.below(DEAD_MS)
    faults.record('a process crashes', deadMs)
    process.crash()
    timeline.after(deadMs, () => restart(place))
  }

  /** Acts like SIGTERM: the process drains and ends. */
  function stop(): void {
    const [place, process] = pickOne()
    if (!process) return
    const graceMs = dice.below(GRACE_MS)
    faults.record('a process is stopped', graceMs)
    void process
      .ask((service) => service.stop({ graceMs }).then(() => true))
      .then((hasEnded) => {
        if (!hasEnded?.isOk()) return
        // A run that ignores its abort can outlast the grace, and so can open requests.
        faults.record('a stopped process ends', 0)
        process.crash()
        restart(place)
      })
  }

  function freeze(): void {
    const [, process] = pickOne()
    const ms = dice.below(FROZEN_MS)
    faults.record('a process is frozen', ms)
    process?.freeze(ms)
  }

  function loseStore(): void {
    const ms = dice.below(AWAY_MS)
    faults.record('the store is away', ms)
    rates.isStoreAway = true
    timeline.after(ms, () => {
      rates.isStoreAway = false
    })
  }

  function jumpClock(): void {
    faults.record('the clock jumps', 0, timeline.jumpClock(dice.below(2 * JUMP_MS) - JUMP_MS))
  }

  // Few kinds of faults per seed, because each kind explains some violations.
  const kinds = [crash, crash, stop, freeze, loseStore, jumpClock].filter(() => dice.chance(0.3))
  const inject = (): void => {
    if (isOver || kinds.length === 0) return
    dice.oneOf(kinds)()
    timeline.after(dice.below(PAUSE_MS), inject)
  }
  timeline.after(dice.below(PAUSE_MS), inject)

  return {
    end: () => {
      isOver = true
    },
  }
}
