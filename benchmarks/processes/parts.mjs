// An answer in parts, as the benchmark's agent and its floor emit it: 200 parts of 100 to 1,900
// characters, at most 200 KiB in all. Other work of the process can run between two of them.
import { setImmediate } from 'node:timers/promises'

export const PARTS = 200
const LENGTHS = Array.from({ length: PARTS }, (_, n) => 100 + ((n * 997) % 1_800))

export async function* answerInParts() {
  for (const [n, length] of LENGTHS.entries()) {
    await setImmediate()
    yield { type: 'data', name: 'row', data: { n, text: 'x'.repeat(length) } }
  }
}

/** Emits a short text as it comes from a socket, and never ends. */
export async function* unfinished() {
  for (let n = 0; n < 20; n++) yield String(Buffer.from(`${n} of some words that an agent wrote. `))
  await new Promise(() => undefined)
}
