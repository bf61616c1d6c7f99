import type { Instant } from '@org/agent-messaging-core'
import { takeTokens, type TokenTake } from '@org/agent-messaging-core/storage'
import type { Memory } from './memory.js'

/** Takes `count` tokens from each bucket, or from none. */
export function takeFrom(
  { sendBuckets }: Memory,
  takes: readonly TokenTake[],
  now: Instant,
  count = 1,
) {
  const { isTaken, fullTimes, levels } = takeTokens(takes, sendBuckets, now, count)
  for (const [bucket, fullAt] of fullTimes) sendBuckets.set(bucket, fullAt)
  return isTaken ? { levels } : ({ kind: 'rate_limited', levels } as const)
}
