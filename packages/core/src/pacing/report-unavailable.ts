import type { Platform } from '../platform.js'
import type { PortResult } from '../ports/port-result.js'
import type { Unavailable } from '../ports/stored.js'

/** Reports that the storage did not do a piece of background work. A loop does it later. */
export const reportUnavailable = (
  { telemetry }: Pick<Platform, 'telemetry'>,
  { reason }: Unavailable,
): void => telemetry.record({ name: 'store.unavailable', reason })

/** Returns the value. Reports that there is none, and returns `fallback`. */
export function valueOr<T>(
  d: Pick<Platform, 'telemetry'>,
  answer: PortResult<T, Unavailable>,
  fallback: T,
): T {
  if (answer.ok) return answer.value
  reportUnavailable(d, answer.error)
  return fallback
}
