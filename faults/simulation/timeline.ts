import { createHash } from 'node:crypto'
import { createDice, type Dice } from '@org/agent-messaging-testing'

/**
 * Virtual time and its steps. The dice of the seed are the only source of chance, and they order
 * steps that are due at the same time. The promise queue is empty between two steps.
 */
export type Timeline = {
  readonly dice: Dice
  /** Milliseconds since the start. They never decrease. */
  readonly elapsed: number
  /** Returns the time of day. All processes share this clock. */
  now(): number
  /** Changes the time of day. Sleeps do not change. Returns the difference of the clock. */
  jumpClock(ms: number): number
  /**
   * Runs a step after `ms` if its owner is alive, or later if its owner is frozen. Returns a
   * function that cancels the step.
   */
  after(ms: number, run: () => void, owner?: Owner): () => void
  /** Adds a line to the log. Two runs of one seed have the same log. */
  note(line: string): void
  readonly lines: readonly string[]
  /** Returns the hash of all lines. */
  hash(): string
  /** Advances the time until the condition is true, up to `maxMs`. Returns the condition. */
  until(condition: () => boolean, maxMs: number): Promise<boolean>
}

/** The process of a step. */
export type Owner = { isAlive: boolean; stoppedUntil: number }

type Step = {
  at: number
  readonly tie: number
  readonly run: () => void
  readonly owner: Owner | undefined
  isCancelled: boolean
}

/** Just before a new day, so that a simulation has counts of two days. */
const START = Date.UTC(2030, 0, 1) - 30_000

export function createTimeline(seed: number): Timeline {
  const dice = createDice(seed)
  const queue = createQueue()
  const lines: string[] = []
  let elapsed = 0
  let startedAt = START

  /** Runs one step and the promises that it resolves. */
  async function runStep(next: Step): Promise<void> {
    if (next.isCancelled || next.owner?.isAlive === false) return
    elapsed = Math.max(elapsed, next.at)
    if (next.owner && next.owner.stoppedUntil > elapsed) {
      next.at = next.owner.stoppedUntil
      queue.add(next)
      return
    }
    next.run()
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
    after: (ms, run, owner) => {
      const step = {
        at: elapsed + Math.max(0, Math.round(ms)),
        tie: dice.below(2 ** 20),
        run,
        owner,
        isCancelled: false,
      }
      if (Number.isFinite(step.at)) queue.add(step)
      return () => {
        step.isCancelled = true
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
        await runStep(next)
      }
      return true
    },
  }
}

/** A binary heap with the earliest step first. */
function createQueue() {
  const heap: Step[] = []
  const isEarlier = (a: Step, b: Step): boolean => a.at < b.at || (a.at === b.at && a.tie < b.tie)

  function swap(i: number, j: number): void {
    ;[heap[i], heap[j]] = [heap[j] as Step, heap[i] as Step]
  }
  const at = (i: number): Step => heap[i] as Step

  function sink(i: number): void {
    for (let least = i; ; i = least) {
      for (const child of [2 * i + 1, 2 * i + 2])
        if (child < heap.length && isEarlier(at(child), at(least))) least = child
      if (least === i) return
      swap(i, least)
    }
  }

  return {
    add(step: Step): void {
      let i = heap.push(step) - 1
      for (
        let parent = (i - 1) >> 1;
        i > 0 && isEarlier(at(i), at(parent));
        parent = (i - 1) >> 1
      ) {
        swap(i, parent)
        i = parent
      }
    },
    takeFirst(): Step | undefined {
      const last = heap.length - 1
      if (last > 0) swap(0, last)
      const first = heap.pop()
      sink(0)
      return first
    },
  }
}
