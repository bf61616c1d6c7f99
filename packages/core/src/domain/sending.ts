import type { Instant } from './instant.js'

/**
 * How the service sends to a webhook. An absent setting follows the server: its limits adapt to the
 * receiver. `maxConcurrency` and `requestsPerSecond` hold over all processes together.
 */
export type SendingSettings = {
  readonly maxConcurrency?: number
  readonly requestsPerSecond?: number
  /** The total deadline of an attempt. */
  readonly timeoutMs?: number
  /** The delays between the attempts of a delivery, in milliseconds. */
  readonly retrySchedule?: readonly number[]
}

/** An absent field stays as it is. `null` clears the field. */
export type SendingChange = { readonly [K in keyof SendingSettings]?: SendingSettings[K] | null }

/** Returns the changed settings without cleared fields, or undefined if none is left. */
export function changeSending(
  settings: SendingSettings | undefined,
  change: SendingChange,
): SendingSettings | undefined {
  const changed = Object.entries({ ...settings, ...change }).filter(([, value]) => value != null)
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

/** The end of a lease, and the timeout of the attempt that the lease allows for. */
export type LeaseTerms = { readonly until: Instant; readonly timeoutMs?: number | undefined }

/** Returns the end of the lease for a webhook: later by as much as its timeout is longer. */
export const leaseEnd = (
  { until, timeoutMs }: LeaseTerms,
  { sending }: { readonly sending?: SendingSettings },
): Instant =>
  timeoutMs === undefined ? until : until + (sending?.timeoutMs ?? timeoutMs) - timeoutMs
