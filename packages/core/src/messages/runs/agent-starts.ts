import type { ByAccess } from '../../domain/access/access.js'
import type { Platform } from '../../platform.js'
import type { Caller } from '../../ports/stored.js'
import type { ProjectCounts } from '../project-counts.js'

const FIRST_LOOK_MS = 50

type AgentRef = { readonly projectId: string; readonly agent: string }

/** Callers that wait for a starting agent. All callers of one agent share one read per look. */
export class AgentStarts {
  /** The next look at each agent, by project and the agent's id or name. */
  readonly #looks = new Map<string, Promise<boolean>>()
  readonly #platform: Pick<Platform, 'storage' | 'clock' | 'policy' | 'stopping'>

  /** The waits of the process, here and for answers. */
  readonly #waits: ProjectCounts

  constructor(
    platform: Pick<Platform, 'storage' | 'clock' | 'policy' | 'stopping'>,
    waits: ProjectCounts,
  ) {
    this.#platform = platform
    this.#waits = waits
  }

  /**
   * Resolves when the agent no longer starts, at the deadline, or when the caller leaves or the
   * service stops. Returns false at once if the project or the caller has too many waits.
   * `deadline` is in elapsed time.
   */
  async wait(
    { access, ...agent }: AgentRef & ByAccess,
    deadline: number,
    caller?: Caller,
  ): Promise<boolean> {
    const opener = { projectId: agent.projectId, access }
    if (this.#waits.isFull(opener, this.#platform.policy.maxWaitingPerProject)) return false
    this.#waits.add(opener, 1)
    try {
      await this.#started(agent, deadline, caller)
    } finally {
      this.#waits.add(opener, -1)
    }
    return true
  }

  async #started(agent: AgentRef, deadline: number, caller?: Caller): Promise<void> {
    const { clock, stopping, policy } = this.#platform
    let isStarting = true
    let pauseMs = FIRST_LOOK_MS
    while (isStarting && clock.elapsed() < deadline) {
      isStarting = await this.#look(agent, Math.min(pauseMs, deadline - clock.elapsed()))
      pauseMs = Math.min(2 * pauseMs, policy.pollMs)
      if (stopping.aborted || caller?.aborted) return
    }
  }

  #look(agent: AgentRef, pauseMs: number): Promise<boolean> {
    const key = `${agent.projectId} ${agent.agent}`
    const shared = this.#looks.get(key)
    if (shared) return shared
    const look = this.#isStartingAfter(agent, pauseMs, key)
    this.#looks.set(key, look)
    return look
  }

  async #isStartingAfter(
    { projectId, agent }: AgentRef,
    pauseMs: number,
    key: string,
  ): Promise<boolean> {
    const { clock, stopping, storage } = this.#platform
    await clock.sleep(pauseMs, stopping)
    this.#looks.delete(key)
    const found = await storage.agents.get(projectId, agent)
    return found.ok && found.value?.state.kind === 'starting'
  }
}
