import { createHash } from 'node:crypto'
import { createDice, type Dice } from '@org/agent-messaging-core/testing'

/**
 * Virtual time, and everything that happens in it. One seed decides: the dice are the only source of chance, and what is due at
 * one instant comes in an order of the dice. The promise queue is emptied between two happenings, so nothing else has a say.
 */
export type World = {
  readonly dice: Dice
  /** Milliseconds since the beginning, which only grow. */
  readonly elapsed: number
  /** The time of day, which everybody here reads from the same clock. */
  now(): number
  /** As an operator or NTP does: who sleeps notices nothing. Gives how far it is off now. */
  jumpClock(ms: number): number
  /** Lets it happen after `ms`, while its owner lives; later if the owner is stopped then. Gives the way to call it off. */
  after(ms: number, happen: () => void, owner?: Owner): () => void
  /** A line of what happened. All lines together are what two runs of one seed have in common. */
  note(line: string): void
  readonly lines: readonly string[]
  /** Of all lines so far. */
  hash(): string
  /** Lets time go on until the condition holds or so much has passed; says whether it holds. */
  until(condition: () => boolean, maxMs: number): Promise<boolean>
}

/** Whose code happens: a process that may die, and may be stopped for a while. */
export type Owner = { isAlive: boolean; stoppedUntil: number }

type Happening = {
  at: number
  readonly tie: number
  readonly happen: () => void
  readonly owner: Owner | undefined
  isOff: boolean
}

const START = Date.UTC(2030, 0, 1)

export function createWorld(seed: number): World {
  const dice = createDice(seed)
  const queue = createQueue()
  const lines: string[] = []
  let elapsed = 0
  let startedAt = START

  /** One happening, and everything that follows from it at once. */
  async function step(next: Happening): Promise<void> {
    if (next.isOff || next.owner?.isAlive === false) return
    elapsed = Math.max(elapsed, next.at)
    if (next.owner && next.owner.stoppedUntil > elapsed) {
      next.at = next.owner.stoppedUntil
      queue.add(next)
      return
    }
    next.happen()
    await new Promise((resolve) => void setImmediate(resolve))
  }

  return {
    dice,
    lines,
    get elapsed() {
      return elapsed
    },
    now: () => startedAt + elapsed,
    jumpClock: (ms) => {
      startedAt += ms
      return startedAt - START
    },
    after: (ms, happen, owner) => {
      const happening = {
        at: elapsed + Math.max(0, Math.round(ms)),
        tie: dice.below(2 ** 20),
        happen,
        owner,
        isOff: false,
      }
      if (Number.isFinite(happening.at)) queue.add(happening)
      return () => {
        happening.isOff = true
      }
    },
    note: (line) => void lines.push(`${String(elapsed).padStart(7)}  ${line}`),
    hash: () => createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 16),
    until: async (condition, maxMs) => {
      const end = elapsed + maxMs
      while (!condition()) {
        const next = queue.takeFirst()
        if (!next || next.at > end) {
          if (next) queue.add(next)
          elapsed = end
          return condition()
        }
        await step(next)
      }
      return true
    },
  }
}

/** A binary heap: the earliest is first. */
function createQueue() {
  const heap: Happening[] = []
  const isEarlier = (a: Happening, b: Happening): boolean =>
    a.at < b.at || (a.at === b.at && a.tie < b.tie)

  function swap(i: number, j: number): void {
    ;[heap[i], heap[j]] = [heap[j] as Happening, heap[i] as Happening]
  }
  const at = (i: number): Happening => heap[i] as Happening

  function sink(i: number): void {
    for (let least = i; ; i = least) {
      for (const child of [2 * i + 1, 2 * i + 2])
        if (child < heap.length && isEarlier(at(child), at(least))) least = child
      if (least === i) return
      swap(i, least)
    }
  }

  return {
    add(happening: Happening): void {
      let i = heap.push(happening) - 1
      for (
        let parent = (i - 1) >> 1;
        i > 0 && isEarlier(at(i), at(parent));
        parent = (i - 1) >> 1
      ) {
        swap(i, parent)
        i = parent
      }
    },
    takeFirst(): Happening | undefined {
      const last = heap.length - 1
      if (last > 0) swap(0, last)
      const first = heap.pop()
      sink(0)
      return first
    },
  }
}
