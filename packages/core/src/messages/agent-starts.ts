import type { Agent } from '../domain/agent.js'
import type { Platform } from '../platform.js'
import type { Caller } from '../ports/stored.js'

const FIRST_LOOK_MS = 50

/** Callers that wait for a starting agent. All callers of one agent share one read per look. */
export class AgentStarts {
  /** The next look at each agent, by agent id. */
  readonly #looks = new Map<string, Promise<Agent | undefined>>()
  readonly #platform: Pick<Platform, 'storage' | 'clock' | 'policy' | 'stopping'>

  constructor(platform: Pick<Platform, 'storage' | 'clock' | 'policy' | 'stopping'>) {
    this.#platform = platform
  }

  /**
   * Resolves when the agent no longer starts, at the deadline, or when the caller leaves or the
   * service stops. `deadline` is in elapsed time.
   */
  async wait(agent: Agent, deadline: number, caller?: Caller): Promise<void> {
    const { clock, stopping, policy } = this.#platform
    let seen: Agent | undefined = agent
    let pauseMs = FIRST_LOOK_MS
    while (seen?.state.kind === 'starting' && clock.elapsed() < deadline) {
      seen = await this.#look(agent, Math.min(pauseMs, deadline - clock.elapsed()))
      pauseMs = Math.min(2 * pauseMs, policy.pollMs)
      if (stopping.aborted || caller?.aborted) return
    }
  }

  #look(agent: Agent, pauseMs: number): Promise<Agent | undefined> {
    const shared = this.#looks.get(agent.id)
    if (shared) return shared
    const look = this.#readAfter(agent, pauseMs)
    this.#looks.set(agent.id, look)
    return look
  }

  async #readAfter({ projectId, id }: Agent, pauseMs: number): Promise<Agent | undefined> {
    const { clock, stopping, storage } = this.#platform
    await clock.sleep(pauseMs, stopping)
    this.#looks.delete(id)
    const found = await storage.agents.get(projectId, id)
    return found.unwrapOr(undefined)
  }
}
