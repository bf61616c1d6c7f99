import type { Dice } from '@org/agent-messaging-testing'

/** The probabilities of failures, per call, request or run. */
export type FailureRates = {
  /** A call of the store fails, before or after its effect. */
  storeFails: number
  /** Each call of the store fails without an effect. */
  isStoreAway: boolean
  /** A call, a request or an answer is slow. */
  slow: number
  /** A request to a receiver or its answer is lost. */
  networkFails: number
  receiversFail: number
  agentsFail: number
  /** The answer to a client is lost. */
  answersLost: number
}

export const noFailures = (): FailureRates => ({
  storeFails: 0,
  isStoreAway: false,
  slow: 0,
  networkFails: 0,
  receiversFail: 0,
  agentsFail: 0,
  answersLost: 0,
})

/** Returns the rates of a seed. Many are low, because each fault explains some violations. */
export const randomFailures = (dice: Dice): FailureRates => ({
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

/** Returns a latency, which is usually short. */
export const latency = (dice: Dice, { slow }: FailureRates): number =>
  dice.chance(slow) ? dice.below(SLOW_MS) : dice.below(QUICK_MS)
