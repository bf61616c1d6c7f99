import { agentEvent, type Agent, type AgentState, type FailedAgent } from '../domain/agent.js'
import { wordsOf, type RunError } from '../domain/run.js'
import type { AgentRuntime, OnExit, RunningAgent } from '../ports/agent-runtime.js'
import type { RunContext } from '../messages/run-context.js'
import { outgoingOf } from '../webhooks/outbox.js'
import { createAbortGroup } from './abort-group.js'
import { createDepartures } from './departures.js'
import type { Dispatcher } from '../messages/dispatcher.js'
import { createFailureCount } from './failure-count.js'
import { createHealthWatch, type Hosted } from './health-watch.js'
import { createInTurn } from './in-turn.js'
import { createLoop } from '../pacing/loop.js'
import { createOwnership } from './ownership.js'
import { runtimeHere } from './runtime-here.js'
import { runtimeSecrets } from './runtime-secrets.js'
import { within } from '../pacing/deadline.js'

/**
 * Makes what is observed of agents what is wanted of them: starts and stops their runtimes in this process, asks how they are,
 * tries failed ones again, and reports each change of state once, whichever process makes it.
 */
export type Supervisor = {
  /**
   * Looks at one agent now; resolves when there is nothing left to do for it at this moment. Does nothing in a process that
   * neither has started its workers nor makes passes: there agents are only administered.
   */
  look(projectId: string, agentId: string): Promise<void>
  /** Looks at every agent that should run or is not stopped. One that is slow to start or stop holds up neither this nor the others. */
  tick(): Promise<void>
  start(): void
  /** Stops this process's runtimes, for good. Agents keep their state and desired state: the next process takes them over. */
  stop(): Promise<void>
}

/** Needed to look after agents, before there is a supervisor. */
type SupervisorContext = RunContext & { readonly dispatcher: Dispatcher }

const INTERVAL_MS = 1_000
/** So long a tick waits for agents that are slow to start or stop, and a stop for runtimes. */
const TICK_PATIENCE_MS = 2_000
const STOP_PATIENCE_MS = 10_000

export function createSupervisor(d: SupervisorContext): Supervisor {
  const here = new Map<string, Hosted>()
  const failures = createFailureCount(d)
  /** Were not well, and are not let run before they say that they are. */
  const convalescent = new Set<string>()
  /** Those of the first tick that nobody has looked at since: their states are of other processes, or of earlier ones. */
  const inherited = new Set<string>()
  /** One look at a time for each agent; a second one waits for the first and then looks again. */
  const looks = createInTurn((agentId, error) =>
    d.telemetry.record({
      name: 'worker.failed',
      worker: 'supervisor',
      agentId,
      reason: wordsOf(error),
    }),
  )
  /** Of ticks that have begun and have not come to look at any agent. */
  const listings = new Set<ReturnType<typeof list>>()
  const departures = createDepartures()
  const ownership = createOwnership(d)
  const watch = createHealthWatch(
    d,
    (hosted, why) => void looks.run(hosted.agent.id, () => unhealthy(hosted, why)),
  )
  const loop = createLoop(d, 'supervisor', INTERVAL_MS, tick)
  const starts = createAbortGroup()
  let phase: 'idle' | 'working' | 'stopped' = 'idle'

  async function settle(agent: Agent): Promise<void> {
    let isInherited = inherited.delete(agent.id)
    for (let next: Agent | undefined = agent; next; isInherited = false)
      next = await step(next, isInherited)
  }

  /** Does what the agent's two states call for; gives the agent in its new state, or undefined when it may stay as it is. */
  async function step(agent: Agent, isInherited: boolean): Promise<Agent | undefined> {
    const wanted = agent.desiredState === 'running'
    switch (agent.state.kind) {
      case 'stopped':
        await forget(agent.id)
        return wanted ? change(agent, { kind: 'starting' }) : undefined
      case 'starting':
        return wanted ? bringUp(agent) : change(agent, { kind: 'stopped' })
      case 'running':
        if (!wanted) return change(agent, { kind: 'stopping' })
        // Without its handler here it may well run in another process, and else is not said to run.
        return runtimeHere(d.runtimes, agent) || (isInherited && d.storage.alone)
          ? bringUp(agent)
          : undefined
      case 'stopping':
        // It has not ended, so it can go on as it is.
        if (wanted && here.has(agent.id)) return change(agent, { kind: 'starting' })
        return (await runsEnded(agent.id)) ? halt(agent) : undefined
      case 'error':
        failures.note(agent.id, agent.state)
        if (wanted && agent.state.lastError.code === 'RUNTIME_UNHEALTHY')
          return nurse(agent, agent.state)
        if (!wanted) return (await runsEnded(agent.id)) ? halt(agent) : undefined
        await close(agent.id)
        return runtimeHere(d.runtimes, agent) && isDue(agent.state, isInherited)
          ? change(agent, { kind: 'starting' })
          : undefined
    }
  }

  /** Starts the runtime here if it is not here yet. A kind that this process does not have is another's to start. */
  async function bringUp(agent: Agent): Promise<Agent | undefined> {
    const runtime = d.runtimes.get(agent.runtime.kind)
    if (!runtime) return undefined
    if (isOutdated(agent)) await close(agent.id)
    const hosted = convalescent.has(agent.id)
      ? await recover(runtime, agent)
      : (here.get(agent.id) ?? (await start(runtime, agent)))
    if ('code' in hosted) return change(agent, failures.failed(agent.id, hosted))
    failures.noteRunning(agent.id, agent.state)
    d.dispatcher.openLane(agent, watched(hosted))
    return agent.state.kind === 'starting'
      ? change(agent, { kind: 'running', startedAt: d.clock.now() })
      : undefined
  }

  /** It was stopped, given another runtime and started again before this process came to look. */
  function isOutdated({ id, runtime }: Agent): boolean {
    const hosted = here.get(id)
    return hosted !== undefined && JSON.stringify(hosted.agent.runtime) !== JSON.stringify(runtime)
  }

  async function start(runtime: AgentRuntime, agent: Agent): Promise<Hosted | RunError> {
    const secrets = runtimeSecrets(d.crypto, agent)
    if (!secrets)
      return { code: 'RUNTIME_EXITED', message: 'its secrets were sealed with another master key' }
    const onExit: OnExit = (error, isSacrifice = false) => {
      void looks.run(agent.id, async () => {
        // What has been stopped, and perhaps started anew, before its turn came is not to be reported.
        if (started.isOk() && here.get(agent.id)?.running === started.value)
          await exited(agent, error, isSacrifice)
      })
    }
    const started = await starts.run(({ signal }) =>
      runtime.start({ agent, secrets }, onExit, signal),
    )
    if (started.isErr()) return started.error
    const hosted = { agent, running: started.value }
    here.set(agent.id, hosted)
    return hosted
  }

  /** Its runs may still end well, so its runtime stays. While it is not well it stays in error, and nobody is told so again. */
  async function nurse(agent: Agent, state: FailedAgent): Promise<Agent | undefined> {
    convalescent.add(agent.id)
    void d.dispatcher.closeLane(agent.id)
    const runtime = d.runtimes.get(agent.runtime.kind)
    if (!runtime || !isDue(state)) return undefined
    const hosted = await recover(runtime, agent)
    return change(
      agent,
      'code' in hosted ? failures.failed(agent.id, hosted) : { kind: 'starting' },
    )
  }

  /** What kept it from running in an earlier process need not keep it from running in this one, so that has a try at once. */
  const isDue = ({ retryAt }: FailedAgent, isInherited = false): boolean =>
    retryAt !== undefined && (isInherited || retryAt <= d.clock.now())

  /** It goes on as it is if it is well again; else it is started anew, once its runs have ended, and goes on if that made it well. */
  async function recover(runtime: AgentRuntime, agent: Agent): Promise<Hosted | RunError> {
    const before = here.get(agent.id)
    let why = before && (await watch.ask(before.running))
    if (before && why === undefined) return recovered(before)
    if (!d.dispatcher.isBusy(agent.id)) {
      await close(agent.id)
      const hosted = await start(runtime, agent)
      if ('code' in hosted) return hosted
      why = await watch.ask(hosted.running)
      if (why === undefined) return recovered(hosted)
    }
    return { code: 'RUNTIME_UNHEALTHY', message: `still not well: ${why}` }
  }

  function recovered(hosted: Hosted): Hosted {
    convalescent.delete(hosted.agent.id)
    return hosted
  }

  /** A run that failed but may do better the next time is a reason to ask the agent at once. */
  function watched(hosted: Hosted): Pick<RunningAgent, 'run'> {
    const { running } = hosted
    return {
      async run(request, signal) {
        const outcome = await running.run(request, signal)
        if (outcome.kind === 'failed' && outcome.retryable) watch.suspect(hosted)
        return outcome
      },
    }
  }

  async function exited(agent: Agent, error: RunError, isSacrifice: boolean): Promise<void> {
    here.delete(agent.id)
    await fall(
      agent,
      isSacrifice ? failures.sacrificed(agent.id, error) : failures.failed(agent.id, error),
    )
  }

  /** It takes no more runs; those under way may still end well. */
  async function unhealthy(hosted: Hosted, why: string): Promise<void> {
    const { agent } = hosted
    if (here.get(agent.id) !== hosted) return
    convalescent.add(agent.id)
    const message = `not well ${d.policy.agentHealth.failuresBeforeError} times in a row: ${why}`
    await fall(agent, failures.failed(agent.id, { code: 'RUNTIME_UNHEALTHY', message }))
  }

  async function fall(agent: Agent, state: FailedAgent): Promise<void> {
    void d.dispatcher.closeLane(agent.id)
    await change({ ...agent, state: { kind: 'running', startedAt: 0 } }, state)
  }

  /** It takes no more runs. False when somebody has asked for it again before those under way have ended: then the next look decides. */
  const runsEnded = (agentId: string): Promise<boolean> =>
    departures.wait(agentId, d.dispatcher.closeLane(agentId))

  async function halt(agent: Agent): Promise<Agent | undefined> {
    await close(agent.id)
    return change(agent, { kind: 'stopped' })
  }

  async function close(agentId: string): Promise<void> {
    await d.dispatcher.closeLane(agentId)
    await here.get(agentId)?.running.stop()
    here.delete(agentId)
  }

  /** Another process has it now: what it keeps here is of no use to that one. */
  async function yieldTo(agentId: string): Promise<void> {
    convalescent.delete(agentId)
    await close(agentId)
  }

  /** It is stopped or deleted. */
  async function forget(agentId: string): Promise<void> {
    ownership.forget(agentId)
    failures.forget(agentId)
    convalescent.delete(agentId)
    await close(agentId)
  }

  /** Undefined when another process was first, or the store is away: the next look sees what holds. */
  async function change(agent: Agent, to: AgentState): Promise<Agent | undefined> {
    // A start that our stop has cut short is no failure of the agent's, and what else fails by now is for the next process to see.
    if (to.kind === 'error' && phase === 'stopped') return undefined
    const now = d.clock.now()
    const event = agentEvent(agent, to, now)
    const outgoing = event && outgoingOf(d, event, agent.projectId)
    const from = agent.state.kind
    const result = await d.storage.agents.changeState({
      agentId: agent.id,
      from,
      to,
      ...(outgoing && { outgoing }),
    })
    if (result.isErr() || !result.value.changed) return undefined
    if (outgoing) d.deliverySender.take(result.value.deliveries, outgoing.claim)
    const why = to.kind === 'error' && { error: to.lastError.code, detail: to.lastError.message }
    d.telemetry.record({
      name: 'agent.changed',
      agentId: agent.id,
      projectId: agent.projectId,
      from,
      to: to.kind,
      ...why,
    })
    return { ...agent, state: to }
  }

  /** The agents to look at, and which of them are this process's. Undefined while the store is away, and once this process is to stop. */
  async function list(isFirst: boolean) {
    const active = await d.storage.agents.listActive()
    if (active.isErr())
      d.telemetry.record({ name: 'store.unavailable', reason: active.error.reason })
    if (active.isErr() || starts.aborted) return undefined
    if (isFirst) for (const agent of active.value) inherited.add(agent.id)
    for (const { id, desiredState } of active.value)
      if (desiredState === 'running') departures.callOff(id)
    const isOurs = await ownership.claim(active.value)
    return starts.aborted ? undefined : { active: active.value, isOurs }
  }

  async function tick(): Promise<void> {
    if (phase === 'stopped') return
    const before = [...here.keys()]
    const listing = list(phase === 'idle')
    phase = 'working'
    listings.add(listing)
    const listed = await listing
    listings.delete(listing)
    if (!listed) return
    const { active, isOurs } = listed
    const ids = new Set(active.map((agent) => agent.id))
    const gone = before.filter((agentId) => !ids.has(agentId))
    // What the list says of an agent that somebody is looking at may be old by the time of its turn.
    const lookOnce = (agentId: string, look: () => Promise<void>) =>
      looks.underWay(agentId) ?? looks.run(agentId, look)
    const all = [
      ...active.map((agent) =>
        lookOnce(agent.id, () => (isOurs(agent) ? settle(agent) : yieldTo(agent.id))),
      ),
      ...gone.map((agentId) => lookOnce(agentId, () => forget(agentId))),
    ]
    watch.look(here.values())
    await within(d.clock, TICK_PATIENCE_MS, Promise.all(all))
  }

  return {
    look: async (projectId, agentId) => {
      if (phase !== 'working') return
      departures.callOff(agentId)
      await looks.run(agentId, async () => {
        const agent = await d.storage.agents.get(projectId, agentId)
        if (agent.isErr()) return
        if (!agent.value) return forget(agentId)
        const isOurs = await ownership.claim([agent.value])
        if (isOurs(agent.value)) await settle(agent.value)
      })
    },
    tick,
    start: loop.start,
    async stop() {
      phase = 'stopped'
      starts.abort('stopping')
      watch.stop()
      await loop.stop()
      // In turn: what is being started now is stopped then.
      const ids = new Set([...here.keys(), ...looks.keys()])
      const closed = [...ids].map((agentId) => looks.run(agentId, () => close(agentId)))
      // Not before what is asked for now is answered: a claim that comes after the release would stay.
      await within(
        d.clock,
        STOP_PATIENCE_MS,
        Promise.all([...listings, ...closed]).then(ownership.release),
      )
    },
  }
}
