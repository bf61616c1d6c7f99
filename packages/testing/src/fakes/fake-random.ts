import type { Random } from '@org/agent-messaging-core/runtime'

/** Gives these values again and again, in order; 0, which is no jitter, when there are none. */
export function fakeRandom(...values: readonly number[]): Random {
  let next = 0
  return { next: () => values[next++ % values.length] ?? 0 }
}

/** Looks random and is the same for the same seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed
  return {
    next: () => {
      state = (state + 0x6d2b79f5) | 0
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    },
  }
}
