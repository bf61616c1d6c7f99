import { BatchSlots } from '../src/database/batch-slots.js'
import { Batcher, type BatcherOptions } from '../src/database/batcher.js'

/** Returns the `commit` of a new batcher. Without other options nothing limits its batches. */
export function committing<In, Out>(
  options: Partial<BatcherOptions<In, Out>> & Pick<BatcherOptions<In, Out>, 'flush'>,
): (input: In) => Promise<Out> {
  const slots = new BatchSlots(Infinity, 60_000)
  const batcher = new Batcher({ maxBatchSize: 64, maxQueued: 200, slots, ...options })
  return (input) => batcher.commit(input)
}

/** A flush whose batches stay under way until the test ends them. */
export function heldFlush() {
  const batches: (readonly string[])[] = []
  const ends: (() => void)[] = []
  const flush = async (inputs: readonly string[]) => {
    batches.push(inputs)
    await new Promise<void>((end) => ends.push(end))
    return inputs
  }
  return { batches, ends, flush, end: () => ends.shift()?.() }
}

/** Waits for turns of the event loop. */
export async function turns(count = 1): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise(setImmediate)
}

export const coded = (code: string) => Object.assign(new Error(code), { code })
