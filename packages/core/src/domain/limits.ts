/**
 * Sizes that one request can have. `messageLength` and `sessionIdLength` count Unicode code points,
 * the other lengths count UTF-16 units.
 */
export type Limits = {
  readonly messageLength: number
  readonly sessionIdLength: number
  readonly metadataLength: number
  readonly metadataDepth: number
  readonly responseLength: number
  /** The most state that a runtime can store for a session. */
  readonly sessionStateLength: number
  readonly idempotencyKeyLength: number
  readonly webhooksPerProject: number
  readonly agentsPerProject: number
  /** Keys that are neither revoked nor expired. */
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
