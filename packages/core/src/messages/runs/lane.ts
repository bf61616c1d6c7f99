import type { Agent } from '../../domain/agents/agent.js'
import { ShortLivedMap } from '../../domain/values/short-lived-map.js'
import { IdleWaits } from '../../pacing/idle-waits.js'
import type { RunningAgent } from '../../ports/agent-runtime.js'
import type { Run } from './run.js'

export type LaneLoad = {
  readonly concurrency: number
  readonly runs: number
  /** Runs that have ended with an outcome that is not stored yet. */
  readonly recording: number
  /** Slots for messages that a send or a claim is about to bring. */
  readonly reserved: number
}

/**
 * Returns how many more runs can start. A run holds no slot while its outcome is stored. At most
 * `concurrency` outcomes are exempt, so a storage that takes no writes stops the lane.
 */
export const freeSlots = ({ concurrency, runs, recording, reserved }: LaneLoad): number =>
  Math.max(0, concurrency - reserved - runs + Math.min(recording, concurrency))

/** A claim gets as many slots, if they are free, so that small lanes need one claim. */
const MIN_CLAIM = 4

/** The run slots of one agent in this process: as many as the agent's `concurrency`. */
export class Lane {
  /** A message can be due that found no free slot. */
  isStarved = false
  /** By number. */
  readonly #runs = new ShortLivedMap<number, Run>()
  #agent: Agent
  #running: Pick<RunningAgent, 'run'>
  #isClosed = false
  #recording = 0
  #reserved = 0
  /** Sessions of the sends that hold a reserved slot. */
  readonly #sending = new Set<string>()
  readonly #idle = new IdleWaits(() => this.isIdle)

  constructor(agent: Agent, running: Pick<RunningAgent, 'run'>) {
    this.#agent = agent
    this.#running = running
  }

  get agent(): Agent {
    return this.#agent
  }

  get running(): Pick<RunningAgent, 'run'> {
    return this.#running
  }

  get runs(): Iterable<Run> {
    return this.#runs.values()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get free(): number {
    if (this.#isClosed) return 0
    return freeSlots({
      concurrency: this.#agent.concurrency,
      runs: this.#runs.size,
      recording: this.#recording,
      reserved: this.#reserved,
    })
  }

  get isIdle(): boolean {
    return this.#runs.size === 0 && this.#reserved === 0
  }

  open(agent: Agent, running: Pick<RunningAgent, 'run'>): void {
    this.#agent = agent
    this.#running = running
    this.#isClosed = false
  }

  /** Gives out no more slots. Runs under way go on. */
  close(): void {
    this.#isClosed = true
  }

  /** Resolves when no run is under way and no slot is reserved. */
  idle(): Promise<void> {
    return this.#idle.wait()
  }

  /**
   * Checks for a free slot on behalf of a due message, and marks the lane starved if there is
   * none.
   */
  hasRoom(): boolean {
    const hasRoom = this.free > 0
    this.isStarved ||= !hasRoom
    return hasRoom
  }

  /**
   * Reserves slots for a claim, and returns their number. `sharesWithSends` leaves half of the free
   * slots to sends that arrive during the claim, unless a message can be due.
   */
  reserveForClaim(sharesWithSends: boolean): number {
    const { free } = this
    const half = Math.max(Math.ceil(free / 2), Math.min(free, MIN_CLAIM))
    const share = sharesWithSends && !this.isStarved ? half : free
    this.#reserved += share
    this.isStarved = free === 0
    return share
  }

  /**
   * Reserves a slot for a send. A session gets one at a time: sends to a session that is locked in
   * the storage must not take every slot.
   */
  reserve(sessionId: string): boolean {
    if (this.#sending.has(sessionId) || this.free === 0) return false
    this.#reserved++
    this.#sending.add(sessionId)
    return true
  }

  /** Ends a send's hold on its session. Its slot stays reserved. */
  sent(sessionId: string): void {
    this.#sending.delete(sessionId)
  }

  /** Frees reserved slots. Returns true if a message that found none can have one now. */
  release(slots: number): boolean {
    this.#reserved -= slots
    this.#idle.tell()
    return this.isStarved && this.free > 0
  }

  /**
   * Aborts the runs of a session and returns their ends. The message of such a run was cancelled,
   * or its lease ended during a long pause of this process.
   */
  abortSession(sessionId: string): Promise<unknown>[] {
    const ends: Promise<unknown>[] = []
    for (const run of this.#runs.values()) {
      if (run.sessionId !== sessionId) continue
      run.abort('lost')
      ends.push(run.ended)
    }
    return ends
  }

  /** Adds a run that uses a reserved slot. Returns true like `release`. */
  add(run: Run): boolean {
    this.#runs.set(run.number, run)
    return this.release(1)
  }

  agentEnded(): void {
    this.#recording++
  }

  /** Removes a run whose agent has ended. */
  remove(run: Run): void {
    this.#runs.delete(run.number)
    this.#recording--
    this.#idle.tell()
  }
}
