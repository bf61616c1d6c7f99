import type { Platform } from '../platform.js'
import type { Unavailable } from '../ports/stored.js'

/** Reports that the storage did not do a piece of background work. A loop does it later. */
export const reportUnavailable = (
  { telemetry }: Pick<Platform, 'telemetry'>,
  { reason }: Unavailable,
): void => telemetry.record({ name: 'store.unavailable', reason })
