import type { TurnQueue } from '../pacing/turn-queue.js'
import type { AgentStarts } from './runs/agent-starts.js'
import type { Dispatcher } from './runs/dispatcher.js'
import type { EarlierReads } from './earlier-reads.js'
import type { ProjectLimits } from './project-limits.js'
import type { RunContext } from './runs/run-context.js'
import type { Platform } from '../platform.js'
import type { RecoveryRunner } from '../webhooks/recovery-runner.js'
import type { WaitingRoom } from './waiting-room.js'

/** What works behind the calls of messages. */
type Parts = Pick<RunContext, 'deliverySender' | 'answerStreams'> & {
  readonly dispatcher: Dispatcher
  readonly waitingRoom: WaitingRoom
  readonly agentStarts: AgentStarts
  readonly earlierReads: EarlierReads
  readonly projectLimits: ProjectLimits
  readonly recoveryRunner: RecoveryRunner
  /** Sends before the storage. Commits of answers never wait in it. */
  readonly sendQueue: TurnQueue
}

/** The ports and parts that a use case names. */
export type Needs<Name extends keyof (Platform & Parts)> = Pick<Platform & Parts, Name>
