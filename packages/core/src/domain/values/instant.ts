/** Milliseconds since 1970 UTC. ISO 8601 exists on the wire only. */
export type Instant = number

/** The wire form of an instant: ISO 8601, UTC, milliseconds. */
export const toIso = (at: Instant): string => new Date(at).toISOString()
