import type { Agent } from '../../domain/agents/agent.js'
import { valueOr } from '../../pacing/report-unavailable.js'
import { WorkLoop } from '../../pacing/work-loop.js'
import type { RunningAgent } from '../../ports/agent-runtime.js'
import type { ClaimedMessage, FreeSlots } from '../../ports/message-store.js'
import { Lane } from './lane.js'
import type { RunContext } from './run-context.js'
import { RunLeases } from './run-leases.js'
import { Run } from './run.js'

/** A reserved slot. Exactly one of the methods must be called, once. */
export type Slot = { run(claimed: ClaimedMessage): void; release(): void }

/**
 * Runs messages on the agents of this process. Each agent has a lane with `concurrency` slots.
 *
 * A message arrives in one of two ways:
 * - `reserve`: a send of this process stores the message with a claim, so no query is needed.
 * - `tick`: the store hands out due sessions, one message of each.
 *
 * The dispatcher claims at every poll, when it is woken, and when a slot of a full lane frees.
 */
export class Dispatcher {
  readonly #context: RunContext
  readonly #lanes = new Map<string, Lane>()
  readonly #leases: RunLeases
  readonly #loop: WorkLoop
  #running = 0
  #lastNumber = 0

  constructor(context: RunContext) {
    this.#context = context
    this.#leases = new RunLeases(context, () => this.#runs())
    this.#loop = new WorkLoop(context, {
      name: 'dispatcher',
      tick: () => this.tick(),
      onAnnounced: (work) => {
        if (work.kind === 'messages' && this.#hasRoom(work.agentId)) this.#loop.wake()
      },
    })
  }

  /** Runs under way. */
  get running(): number {
    return this.#running
  }

  /**
   * Opens the agent's lane, or gives it changed settings. Earlier runs keep their slots until they
   * end.
   */
  openLane(agent: Agent, running: Pick<RunningAgent, 'run'>): void {
    if (this.#loop.phase === 'draining') return
    const lane = this.#lanes.get(agent.id)
    if (lane) lane.open(agent, running)
    else this.#lanes.set(agent.id, new Lane(agent, running))
    this.#loop.wake()
  }

  /** Starts no more runs of the agent. Resolves when its runs have ended. */
  async closeLane(agentId: string): Promise<void> {
    const lane = this.#lanes.get(agentId)
    if (!lane) return
    lane.close()
    await lane.idle()
    if (lane.isClosed && this.#lanes.get(agentId) === lane) this.#lanes.delete(agentId)
  }

  isBusy(agentId: string): boolean {
    return this.#lanes.get(agentId)?.isIdle === false
  }

  /**
   * Reserves a slot for a message that a send is about to store. Returns undefined if there is
   * none here.
   */
  reserve(agentId: string, sessionId: string): Slot | undefined {
    const lane = this.#lanes.get(agentId)
    const takesWork = this.#loop.phase === 'running' && !this.#context.stopping.aborted
    if (!takesWork || !lane?.reserve(sessionId)) return undefined
    return {
      run: (claimed) => {
        lane.sent(sessionId)
        void this.#startRun(lane, claimed)
      },
      release: () => {
        lane.sent(sessionId)
        this.#release(lane, 1)
      },
    }
  }

  /**
   * Looks for due messages of the agent. If this process has no room for them, tells the other
   * processes.
   */
  wake(agentId: string): void {
    if (this.#hasRoom(agentId)) this.#loop.wake()
    else this.#context.workSignal.announce({ kind: 'messages', agentId })
  }

  /** Claims once for each lane with free slots. Returns a promise per started run. */
  async tick(): Promise<Promise<void>[]> {
    await this.#context.clock.jumping
    await this.#leases.keep()
    const sharesWithSends = this.#loop.phase === 'running'
    const open = [...this.#lanes.values()].map((lane) => ({
      lane,
      free: lane.reserveForClaim(sharesWithSends),
    }))
    const wanted = open.filter(({ free }) => free > 0)
    if (wanted.length === 0) return []
    const claimed = await this.#claim(
      wanted.map(({ lane, free }) => ({ agentId: lane.agent.id, free })),
    )
    const byAgent = Map.groupBy(claimed, ({ message }) => message.agentId)
    return wanted.flatMap(({ lane, free }) => {
      const mine = byAgent.get(lane.agent.id) ?? []
      const runs = mine.map((claim) => this.#startRun(lane, claim))
      lane.isStarved ||= mine.length === free
      this.#release(lane, free - mine.length)
      return runs
    })
  }

  start(): void {
    this.#loop.start()
  }

  /**
   * Starts nothing more. Runs get `graceMs` to end. After it, they are aborted and go back to the
   * queue.
   */
  async stop(graceMs: number): Promise<void> {
    const { clock, policy } = this.#context
    for (const lane of this.#lanes.values()) lane.close()
    await this.#loop.stop()
    const end = clock.elapsed() + graceMs
    const idle = new AbortController()
    const lanes = [...this.#lanes.values()]
    void Promise.all(lanes.map((lane) => lane.idle())).then(() => idle.abort())
    while (!idle.signal.aborted) {
      if (clock.elapsed() >= end) for (const run of this.#runs()) run.abort('drain')
      const untilEnd = Math.max(1, end - clock.elapsed())
      await clock.sleep(Math.min(policy.pollMs, untilEnd), idle.signal)
      await this.#leases.keep()
    }
  }

  #runs(): Run[] {
    return [...this.#lanes.values()].flatMap((lane) => [...lane.runs])
  }

  #hasRoom(agentId: string): boolean {
    return this.#loop.phase === 'running' && this.#lanes.get(agentId)?.hasRoom() === true
  }

  #release(lane: Lane, slots: number): void {
    if (lane.release(slots)) this.#loop.wake()
  }

  async #claim(lanes: readonly FreeSlots[]): Promise<readonly ClaimedMessage[]> {
    const { clock, policy, storage } = this.#context
    const now = clock.now()
    const until = now + policy.runLeaseMs
    const claimed = await storage.messages.claimRunnable({ lanes, now, until })
    return valueOr(this.#context, claimed, [])
  }

  async #startRun(lane: Lane, claimed: ClaimedMessage): Promise<void> {
    const earlier = lane.abortSession(claimed.message.sessionId)
    const { agent, running } = lane
    const number = ++this.#lastNumber
    const run = new Run(this.#context, { number, claimed, agent, running, earlier })
    this.#running++
    if (lane.add(run)) this.#loop.wake()
    if (this.#loop.phase === 'stopped') void this.#leases.startTimer()
    await run.agentEnded
    lane.agentEnded()
    if (lane.isStarved) this.wake(agent.id)
    const { sessionWaits } = await run.ended
    lane.remove(run)
    this.#running--
    if (this.#running === 0) this.#leases.stopTimer()
    if (sessionWaits || lane.isStarved) this.wake(agent.id)
  }
}
