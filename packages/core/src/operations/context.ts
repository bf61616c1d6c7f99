import type { Parts as PartsOfAgents } from '../agents/context.js'
import type { EarlierReads } from '../messages/earlier-reads.js'
import type { InputDeadlines } from '../messages/input-deadlines.js'
import type { Platform } from '../platform.js'
import type { EventListeners } from '../webhooks/event-listeners.js'
import type { RecoveryRunner } from '../webhooks/recovery-runner.js'

/** What works behind the calls of all subjects. */
export type Parts = PartsOfAgents & {
  readonly eventListeners: EventListeners
  readonly recoveryRunner: RecoveryRunner
  readonly inputDeadlines: InputDeadlines
  readonly earlierReads: EarlierReads
}

/** The ports and parts that a use case names. */
export type Needs<Name extends keyof (Platform & Parts)> = Pick<Platform & Parts, Name>
