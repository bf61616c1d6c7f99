import type { Faults } from './faults.js'
import type { Process } from './process.js'
import type { Weather } from './weather.js'
import type { World } from './world.js'

/** What happens to processes, to the store and to the clock, again and again, until it is over. */
export type Nemesis = {
  end(): void
}

type NemesisOptions = {
  readonly world: World
  readonly weather: Weather
  readonly faults: Faults
  readonly processes: Process[]
  /** Another one in the place of the one that has ended. */
  restart(place: number): void
}

const PAUSE_MS = 6_000
const DEAD_MS = 5_000
const AWAY_MS = 6_000
const FROZEN_MS = 10_000
const JUMP_MS = 15_000
const GRACE_MS = 2_000

export function startNemesis({
  world,
  weather,
  faults,
  processes,
  restart,
}: NemesisOptions): Nemesis {
  const { dice } = world
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
    faults.brief('a process crashes', deadMs)
    process.crash()
    world.after(deadMs, () => restart(place))
  }

  /** SIGTERM: it drains, and ends. */
  function stop(): void {
    const [place, process] = pickOne()
    if (!process) return
    const graceMs = dice.below(GRACE_MS)
    faults.brief('a process is stopped', graceMs)
    void process
      .ask((service) => service.stop({ graceMs }).then(() => true))
      .then((hasEnded) => {
        if (hasEnded !== true) return
        // A run that ignores its abort holds it up past its grace, and then it ends with requests under way.
        faults.brief('a stopped process ends', 0)
        process.crash()
        restart(place)
      })
  }

  function freeze(): void {
    const [, process] = pickOne()
    const ms = dice.below(FROZEN_MS)
    faults.brief('a process is frozen', ms)
    process?.freeze(ms)
  }

  function loseStore(): void {
    const ms = dice.below(AWAY_MS)
    faults.brief('the store is away', ms)
    weather.isStoreAway = true
    world.after(ms, () => {
      weather.isStoreAway = false
    })
  }

  function jumpClock(): void {
    faults.brief('the clock jumps', 0, world.jumpClock(dice.below(2 * JUMP_MS) - JUMP_MS))
  }

  // Few in each seed, and none in some: what follows from one kind shows where the others do not excuse it.
  const kinds = [crash, crash, stop, freeze, loseStore, jumpClock].filter(() => dice.chance(0.3))
  const strike = (): void => {
    if (isOver || kinds.length === 0) return
    dice.oneOf(kinds)()
    world.after(dice.below(PAUSE_MS), strike)
  }
  world.after(dice.below(PAUSE_MS), strike)

  return {
    end: () => {
      isOver = true
    },
  }
}
