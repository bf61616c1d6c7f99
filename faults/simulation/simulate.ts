import { fakeIds, memoryStorage } from '@org/agent-messaging-testing'
import { check } from '../checker/check.js'
import type { History } from '../checker/history.js'
import { createAgents } from './agents.js'
import { createCallBack } from './call-back.js'
import { drain } from './drain.js'
import { createFaultLog } from './fault-log.js'
import { historyOf } from './history.js'
import type { Mutation } from './mutations.js'
import { startFaultInjection } from './inject-faults.js'
import { MAX_QUEUED, POLICY } from './policy.js'
import { populate } from './populate.js'
import { startProcess, type Process, type AnyProcess, type Environment } from './process.js'
import { createReceivers } from './receivers.js'
import { createRecord } from './record.js'
import { createSessionWatch } from './session-watch.js'
import { sharedSignal, sharedWorkSignal } from './signal.js'
import { createClients } from './clients.js'
import { randomFailures, noFailures } from './failure-rates.js'
import { createTimeline, type Timeline } from './timeline.js'

export type Simulation = {
  readonly seed: number
  /** Equal for equal simulations. */
  readonly hash: string
  /** The steps of the simulation. */
  readonly lines: readonly string[]
  /** A sentence for each broken promise: found inside by the model, or outside by the checker. */
  readonly breaches: { readonly inside: readonly string[]; readonly outside: readonly string[] }
  readonly history: History
}

const MAX_PROCESSES = 3
const CLIENTS = 3
const ACTIONS = 10
const LONGEST_MS = 60 * 60_000

/**
 * Runs a simulation: processes on one store, clients, agents, receivers and faults, all determined
 * by the seed. Then repairs all faults, lets the open work end, and runs the checker.
 */
export async function simulate(
  seed: number,
  { store = unchanged, core = unchanged, sender = unchanged }: Mutation = {},
): Promise<Simulation> {
  const timeline = createTimeline(seed)
  const { dice } = timeline
  const [startedAt, rates, faults, storage] = [
    timeline.now(),
    noFailures(),
    createFaultLog(timeline),
    memoryStorage(),
  ]
  const processes: Process[] = []
  const anyProcess: AnyProcess = () => oneOf(timeline, processes)
  const receivers = createReceivers(timeline, rates, faults)
  const agents = createAgents(timeline, rates, faults, createCallBack(timeline, faults, anyProcess))
  const record = createRecord(timeline, faults)
  const sessions = createSessionWatch(MAX_QUEUED)
  const environment: Environment = {
    timeline,
    rates,
    faults,
    agents,
    policy: POLICY,
    ids: fakeIds(),
    storage: store(storage),
    wrapForCore: core,
    senderOf: (owner) => sender(receivers.senderOf(owner)),
    signalOf: sharedSignal(timeline, rates),
    workSignalOf: sharedWorkSignal(timeline, rates),
    observe: (...call) => {
      record.observe(...call)
      sessions.observe(...call)
    },
  }
  let starts = 0
  const start = (place: number): void => {
    processes[place] = startProcess(environment, `p${place + 1}.${++starts}`)
  }
  const count = 1 + dice.below(MAX_PROCESSES)
  for (let place = 0; place < count; place++) start(place)
  const population = await inTime(
    timeline,
    populate(anyProcess, 1 + dice.below(2), 1 + dice.below(2), {
      hasThin: dice.chance(0.5),
      erases: dice.chance(0.3),
    }),
  )

  Object.assign(rates, randomFailures(dice))
  const clients = createClients({ timeline, rates, ...population, anyProcess })
  const injection = startFaultInjection({ timeline, rates, faults, processes, restart: start })
  for (let n = 0; n < CLIENTS; n++) clients.come(ACTIONS)
  const areAnswered = await timeline.until(() => clients.busy === 0, LONGEST_MS)

  injection.end()
  Object.assign(rates, noFailures())
  timeline.note('all faults are repaired')
  for (const [place, { isAlive }] of processes.entries()) if (!isAlive) start(place)
  const isDrained = await drain({ timeline, anyProcess, storage, ...population })

  const history = await historyOf({
    seed,
    startedAt,
    policy: POLICY,
    ...population,
    storage,
    record,
    faults,
    clients,
    agents,
    receivers,
  })
  const outside = [
    ...(areAnswered ? [] : [`${clients.busy} clients still wait for an answer`]),
    ...(isDrained ? [] : ['some work never ends']),
    ...check(history).map(({ invariant, of, problem }) => `${invariant}: ${of}: ${problem}`),
  ]
  return {
    seed,
    hash: timeline.hash(),
    lines: timeline.lines,
    breaches: { inside: sessions.breaches, outside },
    history,
  }
}

const unchanged = <T>(port: T): T => port

function oneOf({ dice }: Timeline, processes: readonly Process[]): Process | undefined {
  const alive = processes.filter(({ isAlive }) => isAlive)
  return alive.length > 0 ? dice.oneOf(alive) : undefined
}

/** Advances the time until the work is done. */
async function inTime<T>(timeline: Timeline, work: Promise<T>): Promise<T> {
  let isDone = false
  void work.finally(() => {
    isDone = true
  })
  await timeline.until(() => isDone, LONGEST_MS)
  return work
}
