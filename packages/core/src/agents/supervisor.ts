import type { Agent } from '../domain/agents/agent.js'
import { wordsOf } from '../domain/messages/run.js'
import { within } from '../pacing/deadline.js'
import { createLoop, type Loop } from '../pacing/loop.js'
import { reportUnavailable } from '../pacing/report-unavailable.js'
import { AgentLifecycle, type LifecycleContext } from './agent-lifecycle.js'
import { KeyedQueue } from './keyed-queue.js'
import { Ownership } from './ownership.js'

type Listing = {
  readonly active: readonly Agent[]
  readonly isOurs: (agent: Agent) => boolean
}

const INTERVAL_MS = 1_000
/** How long a tick waits for agents that are slow to start or stop. */
const TICK_WAIT_MS = 2_000
/** How long a stop waits for runtimes. */
const STOP_WAIT_MS = 10_000

/**
 * Brings each agent from its observed state to its desired state, for the agents that this process
 * owns. Only the process that changes a state in the storage reports the change.
 */
export class Supervisor {
  readonly #context: LifecycleContext
  readonly #ownership: Ownership
  readonly #lifecycle: AgentLifecycle
  readonly #loop: Loop
  /** The work on each agent, one piece after the other. */
  readonly #work: KeyedQueue
  /** Agents whose state is from before the first tick. */
  readonly #inherited = new Set<string>()
  /** Lists that ticks have requested from the storage. */
  readonly #listings = new Set<Promise<Listing | undefined>>()
  #phase: 'idle' | 'working' | 'stopped' = 'idle'

  constructor(context: LifecycleContext) {
    this.#context = context
    this.#work = new KeyedQueue((agentId, error) => {
      const reason = wordsOf(error)
      context.telemetry.record({ name: 'worker.failed', worker: 'supervisor', agentId, reason })
    })
    this.#ownership = new Ownership(context)
    this.#lifecycle = new AgentLifecycle(context, this.#work, this.#ownership)
    this.#loop = createLoop(context, 'supervisor', INTERVAL_MS, () => this.tick())
  }

  start(): void {
    this.#loop.start()
  }

  /**
   * Takes all steps for one agent now. Does nothing in a process without workers or passes: that
   * process only administers agents.
   */
  async look(projectId: string, agentId: string): Promise<void> {
    if (this.#phase !== 'working') return
    this.#lifecycle.cancelStop(agentId)
    await this.#work.run(agentId, async () => {
      const found = await this.#context.storage.agents.get(projectId, agentId)
      if (!found.ok) return
      const agent = found.value
      if (!agent) return this.#lifecycle.forget(agentId)
      const isOurs = await this.#ownership.claim([agent], true)
      if (isOurs(agent)) await this.#takeSteps(agent)
    })
  }

  /**
   * Takes the steps of every agent that should run or is not stopped. An agent that is slow to
   * start or stop delays neither the tick nor the other agents.
   */
  async tick(): Promise<void> {
    if (this.#phase === 'stopped') return
    const hosted = this.#lifecycle.hosted()
    const isFirst = this.#phase === 'idle'
    this.#phase = 'working'
    const listing = this.#list(isFirst)
    this.#listings.add(listing)
    const listed = await listing
    this.#listings.delete(listing)
    if (!listed) return
    const { active, isOurs } = listed
    const ids = new Set(active.map(({ id }) => id))
    const gone = hosted.filter((agentId) => !ids.has(agentId))
    const work = [
      ...active.map((agent) =>
        this.#unlessBusy(agent.id, () =>
          isOurs(agent) ? this.#takeSteps(agent) : this.#lifecycle.yield(agent.id),
        ),
      ),
      ...gone.map((agentId) => this.#unlessBusy(agentId, () => this.#lifecycle.forget(agentId))),
    ]
    this.#lifecycle.startHealthChecks()
    await within(this.#context.clock, TICK_WAIT_MS, Promise.all(work))
  }

  /**
   * Stops the runtimes of this process for good. The agents keep their states for the next
   * process.
   */
  async stop(): Promise<void> {
    this.#phase = 'stopped'
    this.#lifecycle.stop()
    await this.#loop.stop()
    // An agent that is being started is closed after its start.
    const ids = new Set([...this.#lifecycle.hosted(), ...this.#work.keys()])
    const closed = [...ids].map((agentId) =>
      this.#work.run(agentId, () => this.#lifecycle.close(agentId)),
    )
    // After the listings: a claim that the storage grants after the release would keep its lease.
    const released = Promise.all([...this.#listings, ...closed]).then(() =>
      this.#ownership.release(),
    )
    await within(this.#context.clock, STOP_WAIT_MS, released)
  }

  /**
   * Lists and claims agents. Returns undefined if the storage is unavailable or the process stops.
   */
  async #list(isFirst: boolean): Promise<Listing | undefined> {
    const found = await this.#context.storage.agents.listActive()
    if (!found.ok) reportUnavailable(this.#context, found.error)
    if (!found.ok || this.#isStopped()) return undefined
    const active = found.value
    if (isFirst) for (const agent of active) this.#inherited.add(agent.id)
    for (const { id, desiredState } of active)
      if (desiredState === 'running') this.#lifecycle.cancelStop(id)
    const isOurs = await this.#ownership.claim(active)
    return this.#isStopped() ? undefined : { active, isOurs }
  }

  /** A method, because the compiler does not see that `stop` changes the phase during an await. */
  #isStopped(): boolean {
    return this.#phase === 'stopped'
  }

  /** Skips an agent with work under way: by the time of its turn, the list would be old. */
  #unlessBusy(agentId: string, work: () => Promise<void>): Promise<void> {
    return this.#work.last(agentId) ?? this.#work.run(agentId, work)
  }

  #takeSteps(agent: Agent): Promise<void> {
    return this.#lifecycle.takeSteps(agent, this.#inherited.delete(agent.id))
  }
}
