import { filled } from '../values/given.js'
import type { Instant } from '../values/instant.js'
import type { SettingsOf } from '../values/setting.js'

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
export type SendingChange = {
  readonly [K in keyof SendingSettings]?: SendingSettings[K] | null | undefined
}

const DAY_MS = 24 * 3_600_000

export const sendingSettings = {
  maxConcurrency: {
    type: 'integer',
    minimum: 1,
    maximum: 1_000,
    clearable: true,
    label: 'most requests at a time',
    description: 'The most requests at a time, over all processes.',
    unset: 'adapts to the receiver',
  },
  requestsPerSecond: {
    type: 'number',
    minimum: 0.01,
    maximum: 10_000,
    clearable: true,
    label: 'most requests per second',
    description: 'The most requests per second, over all processes.',
    unset: 'adapts to the receiver',
  },
  timeoutMs: {
    type: 'integer',
    minimum: 100,
    maximum: 300_000,
    clearable: true,
    unit: 'milliseconds',
    label: 'time limit of an attempt',
    description: 'The time limit of one attempt.',
    unset: 'the server’s setting',
  },
  retrySchedule: {
    type: 'array',
    items: { type: 'integer', minimum: 1, maximum: 30 * DAY_MS },
    maxItems: 50,
    clearable: true,
    unit: 'milliseconds',
    label: 'delays between attempts',
    description:
      'The delays between the attempts of a delivery, in milliseconds. An empty list allows one ' +
      'attempt.',
    unset: 'the server’s setting',
    examples: [[5_000, 60_000, 600_000]],
  },
} as const satisfies SettingsOf<SendingChange>

/** Returns the changed settings without cleared fields, or undefined if none is left. */
export function changeSending(
  settings: SendingSettings | undefined,
  change: SendingChange,
): SendingSettings | undefined {
  const changed = filled({ ...settings, ...change })
  return Object.keys(changed).length === 0 ? undefined : changed
}

/** The end of a lease, and the timeout of the attempt that the lease allows for. */
export type LeaseTerms = { readonly until: Instant; readonly timeoutMs?: number | undefined }

/** Returns the end of the lease for a webhook: later by as much as its timeout is longer. */
export const leaseEnd = (
  { until, timeoutMs }: LeaseTerms,
  { sending }: { readonly sending?: SendingSettings },
): Instant =>
  timeoutMs === undefined ? until : until + (sending?.timeoutMs ?? timeoutMs) - timeoutMs
