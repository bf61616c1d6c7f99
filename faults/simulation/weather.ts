import type { Dice } from '@org/agent-messaging-core/testing'

/** How bad things are at the moment: what goes wrong by itself, as probabilities of one call, request or run. */
export type Weather = {
  /** A call of the store that is refused, or done while its answer says that it was not. */
  storeFails: number
  /** The store is away: nothing is done and every call says so. */
  isStoreAway: boolean
  /** A call, a request or an answer that takes its time. */
  slow: number
  /** A request of a webhook, or the answer to it, that is lost on its way. */
  networkFails: number
  receiversFail: number
  agentsFail: number
  /** The answer to a client that is lost on its way. */
  answersLost: number
}

export const fine = (): Weather => ({
  storeFails: 0,
  isStoreAway: false,
  slow: 0,
  networkFails: 0,
  receiversFail: 0,
  agentsFail: 0,
  answersLost: 0,
})

/** A climate of its own for every seed. Many are calm: where faults are many, there is little that none of them excuses. */
export const badWeather = (dice: Dice): Weather => ({
  storeFails: dice.oneOf([0, 0, 0.02, 0.1]),
  isStoreAway: false,
  slow: dice.oneOf([0, 0, 0.01, 0.05]),
  networkFails: dice.oneOf([0, 0, 0.05, 0.2]),
  receiversFail: dice.oneOf([0.05, 0.2, 0.5]),
  agentsFail: dice.oneOf([0.05, 0.2, 0.5]),
  answersLost: dice.oneOf([0, 0.05, 0.2]),
})

const QUICK_MS = 20
/** Longer than every lease. */
const SLOW_MS = 8_000

/** How long something takes that is quick as a rule. */
export const latency = (dice: Dice, { slow }: Weather): number =>
  dice.chance(slow) ? dice.below(SLOW_MS) : dice.below(QUICK_MS)
