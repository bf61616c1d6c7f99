import type { Agent, AgentState, FailedAgent } from '../domain/agents/agent.js'
import type { RunError } from '../domain/messages/run.js'
import type { Dispatcher } from '../messages/runs/dispatcher.js'
import type { AgentRuntime, OnExit, RunningAgent } from '../ports/agent-runtime.js'
import { AgentHost, runtimeFor, type HostedAgent } from './agent-host.js'
import { changeState, type PublishingContext } from './change-state.js'
import { decideStep, type LocalAgent } from './decide-step.js'
import { FailureCounts } from './failure-counts.js'
import { HealthChecks } from './health-checks.js'
import type { KeyedQueue } from './keyed-queue.js'
import type { Ownership } from './ownership.js'
import { PendingStops } from './pending-stops.js'

export type LifecycleContext = PublishingContext & { readonly dispatcher: Dispatcher }

/**
 * Starts, checks and stops the runtimes of this process. `decideStep` decides, this class acts.
 * The caller runs all work on one agent in `work`, one piece after the other.
 */
export class AgentLifecycle {
  readonly #context: LifecycleContext
  readonly #work: KeyedQueue
  readonly #ownership: Ownership
  readonly #host: AgentHost
  readonly #failures: FailureCounts
  readonly #health: HealthChecks
  readonly #pendingStops = new PendingStops()
  /** Agents that were unhealthy and must pass a health check before they run. */
  readonly #mustProveHealthy = new Set<string>()
  #isStopping = false

  constructor(context: LifecycleContext, work: KeyedQueue, ownership: Ownership) {
    this.#context = context
    this.#work = work
    this.#ownership = ownership
    this.#host = new AgentHost(context)
    this.#failures = new FailureCounts(context.clock)
    this.#health = new HealthChecks(context, (hosted, problem) => {
      void work.run(hosted.agent.id, () => this.#unhealthy(hosted, problem))
    })
  }

  /** Ids of the agents whose runtime runs in this process. */
  hosted(): string[] {
    return this.#host.all().map(({ agent }) => agent.id)
  }

  startHealthChecks(): void {
    this.#health.startDue(this.#host.all())
  }

  /** Ends the wait of an agent that stops after its runs. */
  cancelStop(agentId: string): void {
    this.#pendingStops.cancel(agentId)
  }

  /**
   * Takes steps until none is left. `isInherited`: the state is from before this process's first
   * tick.
   */
  async takeSteps(agent: Agent, isInherited: boolean): Promise<void> {
    let next = await this.#step(agent, isInherited)
    while (next) next = await this.#step(next, false)
  }

  async close(agentId: string): Promise<void> {
    await this.#context.dispatcher.closeLane(agentId)
    await this.#host.stop(agentId)
  }

  /** Stops the runtime of an agent that another process owns now. */
  async yield(agentId: string): Promise<void> {
    this.#mustProveHealthy.delete(agentId)
    await this.close(agentId)
  }

  /** Stops the runtime of an agent that is stopped or deleted, and forgets the agent. */
  async forget(agentId: string): Promise<void> {
    this.#ownership.forget(agentId)
    this.#failures.forget(agentId)
    await this.yield(agentId)
  }

  /** Cuts starts and health checks short. The caller then closes the agents. */
  stop(): void {
    this.#isStopping = true
    this.#host.abortStarts()
    this.#health.stop()
  }

  /** Takes one step. Returns the agent in its new state, or undefined if there is no step left. */
  async #step(agent: Agent, isInherited: boolean): Promise<Agent | undefined> {
    const { id, desiredState, state } = agent
    if (state.kind === 'error') this.#failures.noteError(id, state)
    const local = this.#localAgent(agent, isInherited)
    const step = decideStep(desiredState, state, local, this.#context.clock.now())
    switch (step) {
      case 'none':
        return undefined
      case 'forget':
        await this.forget(id)
        return undefined
      case 'begin start':
        await this.forget(id)
        return this.#change(agent, { kind: 'starting' })
      case 'cancel start':
        return this.#change(agent, { kind: 'stopped' })
      case 'bring up':
        return this.#bringUp(agent)
      case 'begin stop':
        return this.#change(agent, { kind: 'stopping' })
      case 'cancel stop':
        return this.#change(agent, { kind: 'starting' })
      case 'finish stop':
        return this.#finishStop(agent)
      case 'suspend':
        this.#suspend(id)
        return undefined
      case 'recover':
        this.#suspend(id)
        return this.#recoverInError(agent)
      case 'close':
        await this.close(id)
        return undefined
      case 'retry':
        await this.close(id)
        return this.#change(agent, { kind: 'starting' })
    }
  }

  #localAgent(agent: Agent, isInherited: boolean): LocalAgent {
    const { runtimes, storage } = this.#context
    const isKnown = runtimes.has(agent.runtime.kind)
    const other = isKnown ? 'other options' : 'unknown'
    return {
      isHosted: this.#host.get(agent.id) !== undefined,
      runtime: runtimeFor(runtimes, agent) ? 'available' : other,
      isInherited,
      isAlone: storage.alone === true,
    }
  }

  async #bringUp(agent: Agent): Promise<Agent | undefined> {
    const { clock, dispatcher, runtimes } = this.#context
    const runtime = runtimes.get(agent.runtime.kind)
    if (!runtime) return undefined
    // Another process can stop, change and start an agent between two looks of this one.
    if (this.#host.isOutdated(agent)) await this.close(agent.id)
    const hosted = this.#mustProveHealthy.has(agent.id)
      ? await this.#recover(runtime, agent)
      : (this.#host.get(agent.id) ?? (await this.#start(runtime, agent)))
    if ('code' in hosted) return this.#change(agent, this.#failures.failed(agent.id, hosted))
    this.#failures.noteRunning(agent.id, agent.state)
    dispatcher.openLane(agent, this.#checkedAfterFailures(hosted))
    return agent.state.kind === 'starting'
      ? this.#change(agent, { kind: 'running', startedAt: clock.now() })
      : undefined
  }

  async #start(runtime: AgentRuntime, agent: Agent): Promise<HostedAgent | RunError> {
    const onExit: OnExit = (error, isForced = false) => {
      void this.#work.run(agent.id, async () => {
        // A late report of a runtime that was stopped or replaced is ignored.
        if (this.#host.get(agent.id) === hosted) await this.#exited(agent, error, isForced)
      })
    }
    const hosted = await this.#host.start(runtime, agent, onExit)
    return hosted
  }

  /** Checks the agent's health at once when a run fails that can be retried. */
  #checkedAfterFailures(hosted: HostedAgent): Pick<RunningAgent, 'run'> {
    return {
      run: async (request, signal) => {
        const outcome = await hosted.running.run(request, signal)
        if (outcome.kind === 'failed' && outcome.retryable) this.#health.startNow(hosted)
        return outcome
      },
    }
  }

  async #recoverInError(agent: Agent): Promise<Agent | undefined> {
    const runtime = this.#context.runtimes.get(agent.runtime.kind)
    if (!runtime) return undefined
    const hosted = await this.#recover(runtime, agent)
    const to: AgentState =
      'code' in hosted ? this.#failures.failed(agent.id, hosted) : { kind: 'starting' }
    return this.#change(agent, to)
  }

  /**
   * Keeps the runtime if it is healthy again. Otherwise restarts the runtime, once its runs have
   * ended, and keeps it if that made it healthy.
   */
  async #recover(runtime: AgentRuntime, agent: Agent): Promise<HostedAgent | RunError> {
    const before = this.#host.get(agent.id)
    let problem = before && (await this.#health.ask(before.running))
    if (before && problem === undefined) return this.#recovered(before)
    if (!this.#context.dispatcher.isBusy(agent.id)) {
      await this.close(agent.id)
      const hosted = await this.#start(runtime, agent)
      if ('code' in hosted) return hosted
      problem = await this.#health.ask(hosted.running)
      if (problem === undefined) return this.#recovered(hosted)
    }
    return { code: 'RUNTIME_UNHEALTHY', message: `still unhealthy: ${problem}` }
  }

  #recovered(hosted: HostedAgent): HostedAgent {
    this.#mustProveHealthy.delete(hosted.agent.id)
    return hosted
  }

  #suspend(agentId: string): void {
    this.#mustProveHealthy.add(agentId)
    void this.#context.dispatcher.closeLane(agentId)
  }

  async #exited(agent: Agent, error: RunError, isForced: boolean): Promise<void> {
    const { id } = agent
    this.#host.remove(id)
    const state = isForced
      ? this.#failures.interrupted(id, error)
      : this.#failures.failed(id, error)
    await this.#fail(agent, state)
  }

  async #unhealthy(hosted: HostedAgent, problem: string): Promise<void> {
    const { agent } = hosted
    if (this.#host.get(agent.id) !== hosted) return
    this.#mustProveHealthy.add(agent.id)
    const { failuresBeforeError } = this.#context.policy.agentHealth
    const message = `unhealthy ${failuresBeforeError} times in a row: ${problem}`
    const state = this.#failures.failed(agent.id, { code: 'RUNTIME_UNHEALTHY', message })
    await this.#fail(agent, state)
  }

  /** Starts no more runs of the agent. Runs under way can still end well. */
  async #fail(agent: Agent, state: FailedAgent): Promise<void> {
    void this.#context.dispatcher.closeLane(agent.id)
    await this.#change({ ...agent, state: { kind: 'running', startedAt: 0 } }, state)
  }

  /** Does not finish if the agent is started again before its runs have ended. */
  async #finishStop(agent: Agent): Promise<Agent | undefined> {
    const runsEnded = this.#context.dispatcher.closeLane(agent.id)
    if (!(await this.#pendingStops.wait(agent.id, runsEnded))) return undefined
    await this.close(agent.id)
    return this.#change(agent, { kind: 'stopped' })
  }

  /** Returns the agent in its new state, or undefined if the change was not stored. */
  async #change(agent: Agent, to: AgentState): Promise<Agent | undefined> {
    // A failure during a stop can come from the stop. The next process sees real failures.
    if (to.kind === 'error' && this.#isStopping) return undefined
    return changeState(this.#context, agent, to)
  }
}
