import { codeOf, LOCK_NOT_AVAILABLE } from './errors.js'

/** A write, or a read, that waits for its batch. */
export type Write<In, Out> = {
  readonly input: In
  /** Two writes with one key are never in one batch. */
  readonly key: unknown
  /** Writes with one lock wait for the same row of the database. */
  readonly lock: string | undefined
  /** The largest batch that can contain the write. Shrinks each time the write's batch fails. */
  readonly maxBatchSize: number
  /** The characters of the write that count against the length of a batch. */
  readonly length: number
  /** How often the write was alone in its batch and did not get its lock. */
  readonly lockFailures: number
  /** The latest time for a retry, by the clock of `performance.now`. */
  readonly deadline: number
  /** The error of the write's last batch. */
  readonly error?: unknown
  readonly resolve: (value: Out) => void
  readonly reject: (error: unknown) => void
}

/** A failed batch is split into this many parts, each part again, until one write is alone. */
const PARTS = 8
/** Tries of one write whose lock another transaction holds. */
export const MAX_LOCK_FAILURES = 10

/** Faults of one row: invalid data, a violated constraint, a limit of the server, a held lock. */
const ROW_ERROR = /^(22|23|54|55P03|P0)/

const isRowError = (error: unknown): boolean =>
  error instanceof TypeError || ROW_ERROR.test(codeOf(error) ?? '')

/** The characters of the writes in one batch, unless one write alone has more. */
const MAX_BATCH_LENGTH = 8 * 1024 * 1024

/** Takes the oldest writes that can share a batch. */
export function takeBatch<In, Out>(
  writes: readonly Write<In, Out>[],
  maxBatchSize: number,
  isBlocked: (write: Write<In, Out>) => boolean,
): { batch: Write<In, Out>[]; rest: Write<In, Out>[] } {
  const batch = new Map<unknown, Write<In, Out>>()
  const rest: Write<In, Out>[] = []
  let max = maxBatchSize
  let length = 0
  for (const [at, write] of writes.entries()) {
    if (batch.size >= max) {
      rest.push(...writes.slice(at))
      break
    }
    const isTooLong = batch.size > 0 && length + write.length > MAX_BATCH_LENGTH
    const isTooLate = isTooLong || batch.size >= write.maxBatchSize
    if (isTooLate || batch.has(write.key) || isBlocked(write)) {
      rest.push(write)
      continue
    }
    batch.set(write.key, write)
    length += write.length
    max = Math.min(max, write.maxBatchSize)
  }
  return { batch: [...batch.values()], rest }
}

/** `split`: one write of several failed. `retry`: the only write did not get its lock. */
export type AfterFailure = 'split' | 'retry' | 'reject'

/**
 * Decides what becomes of a failed batch, given how often its only write failed to get its lock.
 */
export function decideFailure(
  error: unknown,
  batchSize: number,
  lockFailures: number,
): AfterFailure {
  if (batchSize > 1) return isRowError(error) ? 'split' : 'reject'
  return codeOf(error) === LOCK_NOT_AVAILABLE && lockFailures < MAX_LOCK_FAILURES
    ? 'retry'
    : 'reject'
}

/** Prepares the writes of a failed batch for smaller batches. */
export const split = <In, Out>(
  batch: readonly Write<In, Out>[],
  error: unknown,
): Write<In, Out>[] =>
  batch.map((write) => ({ ...write, maxBatchSize: Math.ceil(batch.length / PARTS), error }))
