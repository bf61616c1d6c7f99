/**
 * Sizes that one request can have. `messageLength` and `sessionIdLength` count Unicode code points,
 * the other lengths count UTF-16 units.
 */
export type Limits = {
  readonly messageLength: number
  readonly sessionIdLength: number
  readonly metadataLength: number
  readonly metadataDepth: number
  /** The most text of the turns that a sender brings along. */
  readonly earlierTurnsLength: number
  readonly responseLength: number
  /** The most state that a runtime can store for a session. */
  readonly sessionStateLength: number
  readonly idempotencyKeyLength: number
  readonly webhooksPerProject: number
  readonly agentsPerProject: number
  /** Keys that are neither revoked nor expired. */
  readonly keysPerProject: number
  /** Portal links and sessions whose time has not passed. */
  readonly portalsPerProject: number
  /** Also of the types of the installation. */
  readonly eventTypesPerProject: number
}

export const defaultLimits: Limits = {
  messageLength: 64 * 1024,
  sessionIdLength: 256,
  metadataLength: 16 * 1024,
  metadataDepth: 16,
  earlierTurnsLength: 512 * 1024,
  responseLength: 1024 * 1024,
  sessionStateLength: 16 * 1024,
  idempotencyKeyLength: 255,
  webhooksPerProject: 100,
  agentsPerProject: 1_000,
  keysPerProject: 1_000,
  portalsPerProject: 1_000,
  eventTypesPerProject: 500,
}

/** Unicode code points of the `text` of a search. */
export const MAX_SEARCHED_TEXT = 100
