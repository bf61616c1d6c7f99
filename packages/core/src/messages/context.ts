import type { Agent } from '../domain/agent.js'
import type { Recent } from '../domain/recent.js'
import type { TurnQueue } from '../pacing/turn-queue.js'
import type { AgentStarts } from './agent-starts.js'
import type { Dispatcher } from './dispatcher.js'
import type { ProjectLimits } from './project-limits.js'
import type { RunContext } from './run-context.js'
import type { WaitingRoom } from './waiting-room.js'

export type MessagesContext = RunContext & {
  readonly dispatcher: Dispatcher
  readonly waitingRoom: WaitingRoom
  readonly agentStarts: AgentStarts
  /** Running agents, by project and id or name, as a send read them last. */
  readonly recentAgents: Recent<Agent>
  readonly projectLimits: ProjectLimits
  /** Sends before the storage. Commits of answers never wait in it. */
  readonly sendQueue: TurnQueue
}
