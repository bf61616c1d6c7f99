import { codeOf } from './error-code.js'
import { openGate } from './gate.js'

/** How writes of one kind are made together, or reads. */
export type Batching<In, Out> = {
  /** Two with one key are never in one batch: the second may have to find what the first wrote. Reads have none. */
  readonly keyOf?: (input: In) => string
  /** Those of one lane wait for the same lock. Each has one of its own, unless given. */
  readonly laneOf?: (input: In) => string
  readonly mostAtOnce: number
  /** Batches under way, 2 unless given. One is on its way to the disk while the next is prepared; more would be smaller, and wait for each other's locks. */
  readonly mostInFlight?: number
  /** Of what nobody waits for: a batch leaves so long after the one before it, or with `LINGERING`. The first one leaves at once. */
  readonly lingerMs?: number
  /** Makes them all durable, or none; gives what became of each, in their order. It may be repeated whatever came of it. */
  readonly flush: (inputs: readonly In[]) => Promise<readonly Out[]>
}

type Write<In, Out> = {
  readonly input: In
  readonly key: unknown
  readonly settle: { resolve(value: Out): void; reject(reason: unknown): void }
  /** It may share a batch with so many, itself included: with fewer and fewer while one of them fails. */
  readonly most: number
  /** How often it met a lock when it was alone. */
  readonly waits: number
  /** By the clock of `performance.now`. */
  readonly patientUntil: number
  /** Why the batch failed that it was in. */
  readonly reason?: unknown
}

/** So many that nobody waits for are worth a batch of their own. */
const LINGERING = 128
/** A batch that takes so long waits for a lock of somebody's, such as of a host's open transaction: the others need not wait with it. */
const STUCK_MS = 500
/** Batches aside of the others: those that are stuck, and parts of those that failed. Each has a connection, of which the host's pool may have few. */
const MOST_ASIDE = 2

/** Serialization failure and deadlock: the whole is to be run again. Unique violation: another was first, and the next run finds its row. */
const RUN_AGAIN: readonly (string | undefined)[] = ['40001', '40P01', '23505']
const MOST_RUNS = 5
/** A batch of which one fails is parted by so many, and so on until that one is alone. */
const PARTS = 8
/**
 * A lock that somebody does not let go within a second (`LOCK_PATIENCE`): none of a batch got anything. Who is alone with it tries
 * again, aside of the others, and so often in all.
 */
const LOCKED = '55P03'
export const MOST_WAITS = 10
/** Who waits longer for others' locks gets nothing: what it was to write, such as a claim, is of the time when it came. */
const PATIENCE_MS = 10_000

/**
 * Group commit with a leading edge: a write goes off at the end of this turn of the event loop, and while as many batches as may be are under way, of
 * this kind or of all that go through the `gate`, the next one is collected. So one caller waits for nobody, and a thousand share a commit. Rejects
 * with what the database says, or when `maxQueued` wait already.
 */
export function createCommitter<In, Out>(
  batching: Batching<In, Out>,
  maxQueued: number,
  gate = openGate,
): (input: In) => Promise<Out> {
  const { keyOf, laneOf = keyOf, mostAtOnce, mostInFlight = 2, lingerMs = 0, flush } = batching
  /** The lanes of each batch that is aside: what else is in one of them would only get stuck too. */
  const aside = new Set<ReadonlySet<string | undefined>>()
  /** The lanes of those that met a lock when they were alone, and are to try again. */
  const locked = new Set<string | undefined>()
  let queue: Write<In, Out>[] = []
  /** Of batches that failed: however many locks there are among them, those in the queue do not wait behind them. */
  let parted: Write<In, Out>[] = []
  let inFlight = 0
  /** A batch, or a part of one, is about to leave. */
  let [isNext, isPartNext] = [false, false]
  let lingering: NodeJS.Timeout | undefined
  let leftAt = -Infinity

  function wake(): void {
    giveUpLate()
    if (queue.length > 0 && inFlight < mostInFlight && !isNext && !isLingering()) {
      isNext = true
      gate.enter((done) => setImmediate(leave, done))
    }
    if (parted.length > 0 && aside.size < MOST_ASIDE && !isPartNext) {
      isPartNext = true
      setImmediate(leaveInPart)
    }
  }

  function isLingering(): boolean {
    const left = leftAt + lingerMs - performance.now()
    if (left <= 0 || queue.length >= LINGERING) return false
    lingering ??= setTimeout(() => {
      lingering = undefined
      wake()
    }, left)
    return true
  }

  /** With all that came until there was a place for it. */
  function leave(done: () => void): void {
    isNext = false
    leftAt = performance.now()
    const [batch, left] = batchOf(queue)
    queue = left
    if (batch.length === 0) return done()
    void commit(batch).then(done)
    wake()
  }

  function leaveInPart(): void {
    isPartNext = false
    const [part, left] = batchOf(parted)
    parted = left
    if (part.length === 0) return
    void commitAside(part)
    wake()
  }

  /** With those that are left. */
  function batchOf(writes: readonly Write<In, Out>[]): [Write<In, Out>[], Write<In, Out>[]] {
    const batch = new Map<unknown, Write<In, Out>>()
    const left: Write<In, Out>[] = []
    let most = mostAtOnce
    for (const write of writes) {
      const fits =
        batch.size < Math.min(most, write.most) && !batch.has(write.key) && !isHeldUp(write)
      if (fits) batch.set(write.key, write)
      else left.push(write)
      if (fits) most = Math.min(most, write.most)
    }
    return [[...batch.values()], left]
  }

  function isHeldUp({ input, waits }: Write<In, Out>): boolean {
    const lane = laneOf?.(input)
    if (lane === undefined) return false
    if (locked.has(lane) && waits === 0) return true
    for (const lanes of aside) if (lanes.has(lane)) return true
    return false
  }

  async function commit(batch: readonly Write<In, Out>[]): Promise<void> {
    const lanes = lanesOf(batch)
    inFlight++
    const patience = setTimeout(() => {
      if (aside.size === MOST_ASIDE) return
      aside.add(lanes)
      inFlight--
      wake()
    }, STUCK_MS)
    await settle(batch)
    clearTimeout(patience)
    if (!aside.delete(lanes)) inFlight--
    wake()
  }

  async function commitAside(batch: readonly Write<In, Out>[]): Promise<void> {
    const lanes = lanesOf(batch)
    aside.add(lanes)
    await settle(batch)
    aside.delete(lanes)
    wake()
  }

  const lanesOf = (batch: readonly Write<In, Out>[]) =>
    new Set(batch.map(({ input }) => laneOf?.(input)))

  async function settle(batch: readonly Write<In, Out>[]): Promise<void> {
    try {
      const values = await repeated(() => flush(batch.map(({ input }) => input)))
      batch.forEach(({ input, settle: { resolve } }, at) => {
        locked.delete(laneOf?.(input))
        resolve(values[at] as Out)
      })
    } catch (error) {
      // One of them fails: that one alone shall. When the database itself is away, the rest need not wait for it in parts.
      if (batch.length > 1 && isOfARow(error)) part(batch, error)
      else for (const write of batch) giveUp(write, error)
    }
  }

  function part(batch: readonly Write<In, Out>[], reason: unknown): void {
    const most = Math.ceil(batch.length / PARTS)
    parted.unshift(...batch.map((write) => ({ ...write, most, reason })))
  }

  function giveUp(write: Write<In, Out>, reason: unknown): void {
    if (codeOf(reason) !== LOCKED || write.waits === MOST_WAITS) return refuse(write, reason)
    locked.add(laneOf?.(write.input))
    parted.push({ ...write, most: 1, waits: write.waits + 1, reason })
  }

  function giveUpLate(): void {
    const now = performance.now()
    const late = parted.filter(({ patientUntil }) => patientUntil <= now)
    if (late.length === 0) return
    parted = parted.filter(({ patientUntil }) => patientUntil > now)
    for (const write of late) refuse(write, write.reason)
  }

  function refuse({ input, waits, settle: { reject } }: Write<In, Out>, reason: unknown): void {
    const lane = laneOf?.(input)
    reject(reason)
    if (waits === 0 || lane === undefined) return
    locked.delete(lane)
    // One after the other they would wait for this lock as long as it did, each.
    const isBehind = (write: Write<In, Out>): boolean => laneOf?.(write.input) === lane
    for (const write of [...parted, ...queue].filter(isBehind)) write.settle.reject(reason)
    parted = parted.filter((write) => !isBehind(write))
    queue = queue.filter((write) => !isBehind(write))
  }

  return (input) => {
    if (queue.length + parted.length >= maxQueued)
      return Promise.reject(new Error(`${maxQueued} writes are waiting already`))
    return new Promise((resolve, reject) => {
      const patientUntil = performance.now() + PATIENCE_MS
      const key = keyOf?.(input) ?? Symbol('its own')
      queue.push({
        input,
        key,
        settle: { resolve, reject },
        most: mostAtOnce,
        waits: 0,
        patientUntil,
      })
      wake()
    })
  }
}

/** Runs it again when another one was in its way, and so often when it met a lock. */
export async function repeated<T>(run: () => Promise<T>, mostWaits = 0): Promise<T> {
  for (let [runs, waits] = [1, 0]; ;) {
    try {
      return await run()
    } catch (error) {
      if (codeOf(error) === LOCKED && waits++ < mostWaits) continue
      if (runs++ === MOST_RUNS || !RUN_AGAIN.includes(codeOf(error))) throw error
    }
  }
}

/** Data that does not fit, a constraint, a limit of the server's, a lock that somebody does not let go: of one row, not of the database. */
const OF_A_ROW = /^(22|23|54|55P03|P0)/

const isOfARow = (error: unknown): boolean =>
  error instanceof TypeError || OF_A_ROW.test(codeOf(error) ?? '')
