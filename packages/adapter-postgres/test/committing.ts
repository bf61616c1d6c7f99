import { BatchSlots } from '../src/database/batch-slots.js'
import { Committer, type CommitterOptions } from '../src/database/committer.js'

/** Returns the `commit` of a new committer. Without other options nothing limits its batches. */
export function committing<In, Out>(
  options: Partial<CommitterOptions<In, Out>> & Pick<CommitterOptions<In, Out>, 'flush'>,
): (input: In) => Promise<Out> {
  const slots = new BatchSlots(Infinity, 60_000)
  const committer = new Committer({ maxBatchSize: 64, maxQueued: 200, slots, ...options })
  return (input) => committer.commit(input)
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
