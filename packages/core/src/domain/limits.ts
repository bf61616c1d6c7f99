/** Sizes that one request may have. Lengths are UTF-16 units unless the name says bytes. */
export type Limits = {
  readonly messageLength: number
  readonly sessionIdLength: number
  readonly metadataLength: number
  readonly metadataDepth: number
  readonly responseLength: number
  /** Of what a runtime may keep about a session. */
  readonly sessionStateLength: number
  readonly idempotencyKeyLength: number
  readonly webhooksPerProject: number
  readonly agentsPerProject: number
  /** Of those that are good: neither revoked nor expired. */
  readonly keysPerProject: number
}

export const defaultLimits: Limits = {
  messageLength: 64 * 1024,
  sessionIdLength: 256,
  metadataLength: 16 * 1024,
  metadataDepth: 16,
  responseLength: 1024 * 1024,
  sessionStateLength: 16 * 1024,
  idempotencyKeyLength: 255,
  webhooksPerProject: 100,
  agentsPerProject: 1_000,
  keysPerProject: 1_000,
}
