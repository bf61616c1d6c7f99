import type { Agent } from '../domain/agent.js'
import type { Instant } from '../domain/instant.js'
import { isFinal } from '../domain/message.js'
import type { RunningAgent } from '../ports/agent-runtime.js'
import type { ClaimedMessage } from '../ports/message-store.js'
import type { RunContext } from './run-context.js'
import { createLoop } from '../pacing/loop.js'
import { createRun, type Run } from './run.js'
import { within } from '../pacing/deadline.js'

/**
 * Runs messages on the agents of this process. An agent that it runs is a lane with `concurrency` slots. It claims due
 * sessions when woken, here or by another process, at every poll, and when a slot frees of a lane that had none left, which is when
 * the agent has ended: the next one need not wait for the record of the last. It
 * extends the leases of what it runs, as does the lease keeper. Order within a session is the store's affair: it hands out one
 * message of it at a time.
 */
export type Dispatcher = {
  /** Opens the agent's lane, or takes over its changed settings. Runs of before that have not ended keep their slots. */
  openLane(agent: Agent, running: Pick<RunningAgent, 'run'>): void
  /** Takes no more runs for it; resolves when those under way have ended. */
  closeLane(agentId: string): Promise<void>
  /** Whether runs of it are under way. */
  isBusy(agentId: string): boolean
  /** A slot for a message that is about to be accepted; undefined when it cannot be run here and now. A session has one at a time. */
  reserve(agentId: string, sessionId: string): Slot | undefined
  /** Work waits for this agent: it is looked for here if there is room for it, else the other processes are told. */
  wake(agentId: string): void
  /** Runs under way. */
  readonly running: number
  /** Extends the leases of what runs, or is at it, and ends what is overdue. */
  tend(): Promise<void>
  /** One round: tends, and claims for all free slots. Gives the runs that it began. */
  tick(): Promise<Promise<void>[]>
  start(): void
  /** Begins nothing more; runs get `graceMs` to end, then they are aborted and handed back. */
  stop(graceMs: number): Promise<void>
}

/** Exactly one of the two is to be called, once. */
type Slot = { run(claimed: ClaimedMessage): void; release(): void }

/** The runs of one agent, and the slots that are about to be theirs. */
type Lane = {
  agent: Agent
  running: Pick<RunningAgent, 'run'>
  readonly runs: Set<Run>
  /** Of the runs, those whose agent has ended. */
  recording: number
  /** Slots for messages that are about to be accepted or claimed. */
  reserved: number
  /** The sessions of those that are about to be accepted. */
  readonly accepting: Set<string>
  /** Something may be due that found no free slot. */
  starved: boolean
  closed: boolean
  /** Called once nothing runs or is about to. */
  readonly whenIdle: (() => void)[]
}

const emptyLane = (): Omit<Lane, 'agent' | 'running'> => ({
  ...{
    runs: new Set(),
    recording: 0,
    reserved: 0,
    accepting: new Set(),
    starved: false,
    closed: false,
    whenIdle: [],
  },
})

export function createDispatcher(d: RunContext): Dispatcher {
  const lanes = new Map<string, Lane>()
  let phase: 'stopped' | 'started' | 'draining' = 'stopped'
  let beatenAt: Instant = -Infinity
  let isBeating = false
  let keeping: AbortController | undefined
  let runsUnderWay = 0
  let stopHearing = (): void => undefined
  const loop = createLoop(d, 'dispatcher', d.policy.pollMs, tick)

  const allRuns = (): Run[] => [...lanes.values()].flatMap((lane) => [...lane.runs])

  function freeSlots(lane: Lane): number {
    return lane.closed || phase === 'draining'
      ? 0
      : Math.max(0, lane.agent.concurrency - slotsTaken(lane))
  }

  function hasRoom(agentId: string): boolean {
    const lane = lanes.get(agentId)
    if (phase !== 'started' || !lane) return false
    const isFull = freeSlots(lane) === 0
    lane.starved ||= isFull
    return !isFull
  }

  function wake(agentId: string): void {
    if (hasRoom(agentId)) loop.wake()
    else d.workSignal.announce({ kind: 'messages', agentId })
  }

  function unreserve(lane: Lane, slots: number): void {
    lane.reserved -= slots
    // Somebody looked for a slot while these were taken, by a claim perhaps that was too early for what has come since.
    if (slots > 0 && lane.starved && slotsTaken(lane) < lane.agent.concurrency) loop.wake()
    if (isIdle(lane)) for (const tell of lane.whenIdle.splice(0)) tell()
  }

  async function begin(lane: Lane, claimed: ClaimedMessage): Promise<void> {
    // What this process still runs in the session is cancelled, or was lost in a long pause. It ends before the agent has its next turn there.
    const earlier: Promise<unknown>[] = []
    for (const run of lane.runs) {
      if (run.sessionId !== claimed.message.sessionId) continue
      run.abort('lost')
      earlier.push(run.ended)
    }
    const held = { messageId: claimed.message.id, token: claimed.lease.token }
    const deadlineAt = claimed.message.state.startedAt + d.policy.dispatch.runTimeoutMs
    // Before the run: its very first step may block this thread.
    d.leaseKeeper.hold({ ...held, until: deadlineAt + d.policy.runLeaseMs })
    const run = createRun(d, lane.agent, lane.running, claimed, earlier)
    lane.runs.add(run)
    runsUnderWay++
    unreserve(lane, 1)
    if (phase === 'stopped') void keep()
    await run.worked
    lane.recording++
    if (lane.starved) wake(lane.agent.id)
    const { sessionWaits } = await run.ended
    d.leaseKeeper.release(held)
    lane.runs.delete(run)
    lane.recording--
    runsUnderWay--
    if (runsUnderWay === 0) endKeeping()
    if (sessionWaits || lane.starved) wake(lane.agent.id)
    unreserve(lane, 0)
  }

  async function tick(): Promise<Promise<void>[]> {
    await tend()
    const now = d.clock.now()
    const all = [...lanes.values()].map((lane) => ({ lane, free: freeSlots(lane) }))
    for (const { lane, free } of all) {
      lane.reserved += free
      lane.starved = free === 0
    }
    const wanted = all.filter(({ free }) => free > 0)
    if (wanted.length === 0) return []
    const query = wanted.map(({ lane, free }) => ({ agentId: lane.agent.id, free }))
    const claims = await d.storage.messages.claimRunnable({
      lanes: query,
      now,
      until: now + d.policy.runLeaseMs,
    })
    if (claims.isErr())
      d.telemetry.record({ name: 'store.unavailable', reason: claims.error.reason })
    const claimed = claims.unwrapOr([])
    return wanted.flatMap(({ lane, free }) => {
      const mine = claimed.filter(({ message }) => message.agentId === lane.agent.id)
      const begun = mine.map((claim) => begin(lane, claim))
      unreserve(lane, free - mine.length)
      lane.starved ||= mine.length === free
      return begun
    })
  }

  /** Without the loop, whose rounds tend too: what a pass began keeps its lease and its deadline when the pass is over. */
  async function keep(): Promise<void> {
    if (keeping) return
    const mine = new AbortController()
    keeping = mine
    while (!mine.signal.aborted) {
      await d.clock.sleep(d.policy.pollMs, mine.signal)
      await tend()
    }
  }

  function endKeeping(): void {
    keeping?.abort('idle')
    keeping = undefined
  }

  async function tend(): Promise<void> {
    const now = d.clock.now()
    const runs = allRuns()
    for (const run of runs) run.enforceDeadline(now)
    // Either way: after a jump of the clock a lease must not wait until the old time has come again.
    const isDue = runs.length > 0 && Math.abs(now - beatenAt) >= d.policy.runLeaseMs / 3
    if (!isDue || isBeating) return
    isBeating = true
    beatenAt = now
    const beaten = beat(newest(runs), now).then(() => (isBeating = false))
    // Before the next claim, which may else be of what this extends; but not for as long as somebody has locked a session.
    await within(d.clock, d.policy.pollMs, beaten)
  }

  /** Every third of a lease, so that one may be missed. A run that has no lease any more is aborted. */
  async function beat(runs: readonly Run[], now: Instant): Promise<void> {
    const beaten = await d.storage.messages.extendLeases(
      runs.map((run) => run.held),
      now + d.policy.runLeaseMs,
    )
    const lost = new Set(beaten.unwrapOr([]))
    if (lost.size === 0) return
    const found = (await d.storage.messages.find([...lost])).unwrapOr([])
    const open = new Set(found.filter(({ state }) => !isFinal(state)).map(({ id }) => id))
    for (const run of runs)
      if (lost.has(run.held.messageId))
        run.abort(open.has(run.held.messageId) ? 'lost' : 'cancelled')
  }

  function idle(): Promise<unknown> {
    return Promise.all([...lanes.values()].map(laneIdle))
  }

  return {
    openLane(agent, running) {
      const lane = lanes.get(agent.id)
      if (lane) Object.assign(lane, { agent, running, closed: false })
      else lanes.set(agent.id, { agent, running, ...emptyLane() })
      loop.wake()
    },
    async closeLane(agentId) {
      const lane = lanes.get(agentId)
      if (!lane) return
      lane.closed = true
      await laneIdle(lane)
      if (lane.closed && lanes.get(agentId) === lane) lanes.delete(agentId)
    },
    isBusy(agentId) {
      const lane = lanes.get(agentId)
      return lane !== undefined && !isIdle(lane)
    },
    reserve(agentId, sessionId) {
      const lane = lanes.get(agentId)
      // However many wait for a session that somebody has locked, the others have the rest of the slots.
      if (phase !== 'started' || !lane || lane.accepting.has(sessionId) || freeSlots(lane) === 0)
        return undefined
      lane.reserved++
      lane.accepting.add(sessionId)
      const end = (): boolean => lane.accepting.delete(sessionId)
      return {
        run: (claimed) => (end(), void begin(lane, claimed)),
        release: () => (end(), unreserve(lane, 1)),
      }
    },
    wake,
    get running() {
      return runsUnderWay
    },
    tend,
    tick,
    start() {
      if (phase !== 'stopped') return
      phase = 'started'
      stopHearing = d.workSignal.onAnnounced((work) => {
        if (work.kind === 'messages' && hasRoom(work.agentId)) loop.wake()
      })
      loop.start()
    },
    async stop(graceMs) {
      phase = 'draining'
      stopHearing()
      await loop.stop()
      const end = d.clock.now() + graceMs
      const ended = new AbortController()
      void idle().then(() => ended.abort())
      while (!ended.signal.aborted) {
        if (d.clock.now() >= end) for (const run of allRuns()) run.abort('drain')
        await d.clock.sleep(
          Math.min(d.policy.pollMs, Math.max(1, end - d.clock.now())),
          ended.signal,
        )
        await tend()
      }
    },
  }
}

/** A run gives up its slot when the agent has ended, unless the store takes no records and as many wait for it. */
const slotsTaken = ({ agent, runs, recording, reserved }: Lane): number =>
  reserved + Math.max(runs.size - recording, runs.size - agent.concurrency)

/** Of each message the last one: those before it are superseded, and only about to end. */
const newest = (runs: readonly Run[]): Run[] => [
  ...new Map(runs.map((run) => [run.held.messageId, run])).values(),
]

const isIdle = (lane: Lane): boolean => lane.runs.size === 0 && lane.reserved === 0

const laneIdle = (lane: Lane): Promise<void> =>
  new Promise((resolve) => {
    if (isIdle(lane)) resolve()
    else lane.whenIdle.push(resolve)
  })
