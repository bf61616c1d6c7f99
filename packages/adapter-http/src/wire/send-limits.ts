import type { BucketLevel } from '@org/agent-messaging-core'
import { z } from 'zod'
import { count } from './body.js'

const limit = z
  .object({ messagesPerMinute: count, burst: count })
  .meta({ id: 'SendLimit', description: 'A token bucket. Its size is `burst`.' })

export const sendLimitsSchema = z
  .object({
    project: limit.optional().meta({ description: 'All sends of the project together.' }),
    key: limit.optional().meta({ description: 'The sends of each API key.' }),
  })
  .meta({ id: 'SendLimits' })

export const RATE_LIMIT_HEADERS = ['RateLimit-Policy', 'RateLimit'] as const

/**
 * Returns the fields of draft-ietf-httpapi-ratelimit-headers-09. The quota `q` is the size of the
 * bucket, and the window `w` is the time in which an empty bucket becomes full.
 */
export function rateLimitHeaders(levels: readonly BucketLevel[]): Record<string, string> {
  if (levels.length === 0) return {}
  const policies = levels.map(
    ({ of, limit: { messagesPerMinute, burst } }) =>
      `"${of}";q=${burst};w=${Math.ceil((burst * 60) / messagesPerMinute)}`,
  )
  const states = levels.map(
    ({ of, remaining, fullInMs }) => `"${of}";r=${remaining};t=${Math.ceil(fullInMs / 1_000)}`,
  )
  return { 'RateLimit-Policy': policies.join(', '), RateLimit: states.join(', ') }
}
