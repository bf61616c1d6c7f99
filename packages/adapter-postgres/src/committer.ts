import { codeOf } from './error-code.js'

/** How writes of one kind are made together, or reads. */
export type Batching<In, Out> = {
  /** Two with one key are never in one batch: the second may have to find what the first wrote. Reads have none. */
  readonly keyOf?: (input: In) => string
  /** Those of one lane wait for the same lock. Each has one of its own, unless given. */
  readonly laneOf?: (input: In) => string
  readonly mostAtOnce: number
  /** Batches under way, 2 unless given. One is on its way to the disk while the next is prepared; more would be smaller, and wait for each other's locks. */
  readonly mostInFlight?: number
  /** Makes them all durable, or none; gives what became of each, in their order. It may be repeated whatever came of it. */
  readonly flush: (inputs: readonly In[]) => Promise<readonly Out[]>
}

type Write<In, Out> = {
  readonly input: In
  readonly key: unknown
  readonly settle: { resolve(value: Out): void; reject(reason: unknown): void }
}

/** A batch that takes so long waits for a lock of somebody's, such as of a host's open transaction: the others need not wait with it. */
const STUCK_MS = 500
/** Each has a connection, of which the host's pool may have few. */
const MOST_STUCK = 2

/** Serialization failure and deadlock: the whole is to be run again. Unique violation: another was first, and the next run finds its row. */
const RUN_AGAIN: readonly (string | undefined)[] = ['40001', '40P01', '23505']
const MOST_RUNS = 5

/**
 * Group commit with a leading edge: a write goes off at the end of this turn of the event loop, and while as many batches as may be are under way the next
 * one is collected. So one caller waits for nobody, and a thousand share a commit. Rejects with what the database says, or when `maxQueued`
 * wait already.
 */
export function createCommitter<In, Out>(batching: Batching<In, Out>, maxQueued: number): (input: In) => Promise<Out> {
  const { keyOf, laneOf = keyOf, mostAtOnce, mostInFlight = 2, flush } = batching
  /** The lanes of each batch that is stuck: what else is in one of them would only get stuck too. */
  const stuck = new Set<ReadonlySet<string | undefined>>()
  let queue: Write<In, Out>[] = []
  let inFlight = 0
  let isAwake = false

  function wake(): void {
    if (isAwake || queue.length === 0 || inFlight === mostInFlight) return
    isAwake = true
    setImmediate(() => {
      isAwake = false
      const batch = nextBatch()
      if (batch.length === 0) return
      void commit(batch)
      wake()
    })
  }

  function nextBatch(): Write<In, Out>[] {
    const batch = new Map<unknown, Write<In, Out>>()
    const left: Write<In, Out>[] = []
    for (const write of queue) {
      if (batch.size < mostAtOnce && !batch.has(write.key) && !isHeldUp(write)) batch.set(write.key, write)
      else left.push(write)
    }
    queue = left
    return [...batch.values()]
  }

  function isHeldUp({ input }: Write<In, Out>): boolean {
    for (const lanes of stuck) if (lanes.has(laneOf?.(input))) return true
    return false
  }

  async function commit(batch: readonly Write<In, Out>[]): Promise<void> {
    const lanes = new Set(batch.map(({ input }) => laneOf?.(input)))
    inFlight++
    const patience = setTimeout(() => {
      if (stuck.size === MOST_STUCK) return
      stuck.add(lanes)
      inFlight--
      wake()
    }, STUCK_MS)
    await settle(batch)
    clearTimeout(patience)
    if (!stuck.delete(lanes)) inFlight--
    wake()
  }

  async function settle(batch: readonly Write<In, Out>[]): Promise<void> {
    try {
      const values = await repeated(() => flush(batch.map(({ input }) => input)))
      batch.forEach(({ settle: { resolve } }, at) => resolve(values[at] as Out))
    } catch (error) {
      // One of them fails: that one alone shall. When the database itself is away, the rest need not wait for it one by one.
      if (batch.length > 1 && isOfARow(error)) for (const write of batch) await settle([write])
      else for (const write of batch) write.settle.reject(error)
    }
  }

  return (input) => {
    if (queue.length >= maxQueued) return Promise.reject(new Error(`${maxQueued} writes are waiting already`))
    return new Promise((resolve, reject) => {
      queue.push({ input, key: keyOf?.(input) ?? Symbol('its own'), settle: { resolve, reject } })
      wake()
    })
  }
}

/** Runs it again when another one was in its way. */
export async function repeated<T>(run: () => Promise<T>): Promise<T> {
  for (let runs = 1; ; runs++) {
    try {
      return await run()
    } catch (error) {
      if (runs === MOST_RUNS || !RUN_AGAIN.includes(codeOf(error))) throw error
    }
  }
}

/** Data that does not fit, a constraint, a limit of the server's, a lock that somebody does not let go: of one row, not of the database. */
const OF_A_ROW = /^(22|23|54|55P03|P0)/

const isOfARow = (error: unknown): boolean => error instanceof TypeError || OF_A_ROW.test(codeOf(error) ?? '')
