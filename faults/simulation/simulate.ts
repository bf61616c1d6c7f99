import { fakeIds, memoryStorage } from '@org/agent-messaging-core/testing'
import { check } from '../checker/check.js'
import type { History } from '../checker/history.js'
import { createAgents } from './agents.js'
import { createCallBack } from './call-back.js'
import { drain } from './drain.js'
import { createFaults } from './faults.js'
import { historyOf } from './history.js'
import type { Mutation } from './mutations.js'
import { startNemesis } from './nemesis.js'
import { MOST_QUEUED, POLICY } from './policy.js'
import { populate } from './populate.js'
import { startProcess, type Process, type Somebody, type Surroundings } from './process.js'
import { createReceivers } from './receivers.js'
import { createRecord } from './record.js'
import { createSessionWatch } from './session-watch.js'
import { sharedSignal, sharedWorkSignal } from './signal.js'
import { createUsers } from './users.js'
import { badWeather, fine } from './weather.js'
import { createWorld, type World } from './world.js'

export type Simulation = {
  readonly seed: number
  /** Equal for equal runs. */
  readonly hash: string
  /** What happened, a line for each thing. */
  readonly lines: readonly string[]
  /** Sentences about each promise that was not kept: by what the store did beside a model of it, and by what was seen from outside. */
  readonly breaches: { readonly inside: readonly string[]; readonly outside: readonly string[] }
  readonly history: History
}

const MOST_PROCESSES = 3
const USERS = 3
const DEEDS = 10
const LONGEST_MS = 60 * 60_000

/**
 * One life of a service, as the seed wants it: processes on one store, users, agents and receivers, and whatever befalls them. Then
 * all is healed, what is left gets its time, and the checker looks at what was promised.
 */
export async function simulate(
  seed: number,
  { store = asItIs, core = asItIs, sender = asItIs }: Mutation = {},
): Promise<Simulation> {
  const world = createWorld(seed)
  const { dice } = world
  const [startedAt, weather, faults, storage] = [
    world.now(),
    fine(),
    createFaults(world),
    memoryStorage(),
  ]
  const processes: Process[] = []
  const somebody: Somebody = () => oneOf(world, processes)
  const receivers = createReceivers(world, weather, faults)
  const agents = createAgents(world, weather, faults, createCallBack(world, faults, somebody))
  const record = createRecord(world, faults)
  const sessions = createSessionWatch(MOST_QUEUED)
  const around: Surroundings = {
    world,
    weather,
    faults,
    agents,
    policy: POLICY,
    ids: fakeIds(),
    storage: store(storage),
    alter: core,
    senderOf: (owner) => sender(receivers.senderOf(owner)),
    signalOf: sharedSignal(world, weather),
    workSignalOf: sharedWorkSignal(world, weather),
    witness: (...call) => {
      record.witness(...call)
      sessions.witness(...call)
    },
  }
  let starts = 0
  const start = (place: number): void => {
    processes[place] = startProcess(around, `p${place + 1}.${++starts}`)
  }
  const count = 1 + dice.below(MOST_PROCESSES)
  for (let place = 0; place < count; place++) start(place)
  const population = await inTime(world, populate(somebody, 1 + dice.below(2), 1 + dice.below(2)))

  Object.assign(weather, badWeather(dice))
  const users = createUsers({ world, weather, ...population, somebody })
  const nemesis = startNemesis({ world, weather, faults, processes, restart: start })
  for (let n = 0; n < USERS; n++) users.come(DEEDS)
  const areAnswered = await world.until(() => users.busy === 0, LONGEST_MS)

  nemesis.end()
  Object.assign(weather, fine())
  world.note('all is healed')
  for (const [place, { isAlive }] of processes.entries()) if (!isAlive) start(place)
  const isDrained = await drain({ world, somebody, storage, ...population })

  const history = await historyOf({
    seed,
    startedAt,
    policy: POLICY,
    ...population,
    storage,
    record,
    faults,
    users,
    agents,
    receivers,
  })
  const outside = [
    ...(areAnswered ? [] : [`${users.busy} users still wait for an answer`]),
    ...(isDrained ? [] : ['something is left to be done, and nobody does it']),
    ...check(history).map(({ invariant, of, what }) => `${invariant}: ${of}: ${what}`),
  ]
  return {
    seed,
    hash: world.hash(),
    lines: world.lines,
    breaches: { inside: sessions.breaches, outside },
    history,
  }
}

const asItIs = <T>(port: T): T => port

function oneOf({ dice }: World, processes: readonly Process[]): Process | undefined {
  const alive = processes.filter(({ isAlive }) => isAlive)
  return alive.length > 0 ? dice.oneOf(alive) : undefined
}

/** Lets time go on until the work is done. */
async function inTime<T>(world: World, work: Promise<T>): Promise<T> {
  let isDone = false
  void work.finally(() => {
    isDone = true
  })
  await world.until(() => isDone, LONGEST_MS)
  return work
}
