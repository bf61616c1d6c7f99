import { seededRandom } from './fakes/fake-random.js'

/** Choices that are the same for the same seed. */
export type Dice = {
  chance(probability: number): boolean
  /** 0 to `end` - 1. */
  below(end: number): number
  oneOf<T>(items: readonly T[]): T
  /** Takes one out of the list, if there is any. */
  takeOne<T>(items: T[]): T | undefined
  /** Each as often as its weight says. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T
}

export function createDice(seed: number): Dice {
  const random = seededRandom(seed)
  const below = (end: number): number => Math.floor(random.next() * end)
  const oneOf = <T>(items: readonly T[]): T => items[below(items.length)] as T
  return {
    chance: (probability) => random.next() < probability,
    below,
    oneOf,
    takeOne: (items) => items.splice(below(items.length), 1)[0],
    weighted: (choices) =>
      oneOf(choices.flatMap(([weight, choice]) => Array.from({ length: weight }, () => choice))),
  }
}
