import { defaultPolicy, type MessagingService, type Policy, type Storage } from '@org/agent-messaging-core'
import { fakeIds, memoryStorage } from '@org/agent-messaging-core/testing'
import type { Result } from 'neverthrow'
import { check } from '../checker/check.js'
import type { History } from '../checker/history.js'
import { createAgents, KIND, type CallBack } from './agents.js'
import { createFaults } from './faults.js'
import { historyOf } from './history.js'
import type { Mutation } from './mutations.js'
import { startNemesis } from './nemesis.js'
import { startProcess, type Process } from './process.js'
import { createReceivers } from './receivers.js'
import { createRecord } from './record.js'
import { createSessionWatch } from './session-watch.js'
import { sharedSignal } from './signal.js'
import { createUsers, newReceiver } from './users.js'
import { badWeather, fine } from './weather.js'
import { createWorld, type Owner, type World } from './world.js'

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

const SECOND = 1_000
const MINUTE = 60 * SECOND
const MOST_PROCESSES = 3
const MOST_QUEUED = 4
const USERS = 3
const DEEDS = 10
const LONGEST_RUN_MS = 60 * MINUTE
const LONGEST_DRAIN_MS = 15 * MINUTE
const LOOK_MS = 5 * SECOND

/** All of the service's times, shortened, so that each of them plays a part in a minute. */
const POLICY: Policy = {
  ...defaultPolicy,
  ...{ syncWaitMs: 10 * SECOND, pollMs: 2 * SECOND, runLeaseMs: 6 * SECOND },
  dispatch: { backoffMs: [500, 2 * SECOND], jitter: 0.2, runTimeoutMs: 8 * SECOND, deferredTimeoutMs: 15 * SECOND },
  agentHealth: { intervalMs: 10 * SECOND, recheckMs: SECOND, timeoutMs: 2 * SECOND, strikes: 3 },
  retry: { delaysMs: [SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND, 12 * SECOND], jitter: 0.2, maxRetryAfterMs: 30 * SECOND },
  webhookHealth: {
    ...{ failures: 4, openMs: 2 * SECOND, longestOpenMs: 8 * SECOND, jitter: 0.2, maxRetryAfterMs: 30 * SECOND },
    ...{ disableAfterMs: 20 * SECOND, disableFailures: 6 },
  },
  deliver: { deadlineMs: 3 * SECOND, leaseMs: 6 * SECOND, maxInFlight: 8, maxInFlightPerWebhook: 3, prefetch: 12 },
}

/**
 * One life of a service, as the seed wants it: processes on one store, users, agents and receivers, and whatever befalls them. Then
 * all is healed, what is left gets its time, and the checker looks at what was promised.
 */
export async function simulate(seed: number, { store = asItIs, core = asItIs, sender = asItIs }: Mutation = {}): Promise<Simulation> {
  const world = createWorld(seed)
  const { dice } = world
  const startedAt = world.now()
  const weather = fine()
  const faults = createFaults(world)
  const memory = memoryStorage()
  const record = createRecord(world, faults)
  const sessions = createSessionWatch(MOST_QUEUED)
  const receivers = createReceivers(world, weather, faults)
  const processes: Process[] = []
  const somebody = (): Process | undefined => {
    const alive = processes.filter(({ isAlive }) => isAlive)
    return alive.length > 0 ? dice.oneOf(alive) : undefined
  }
  const agents = createAgents(world, weather, faults, callBackTo(world, faults, somebody))
  const around = {
    ...{ world, weather, faults, agents, policy: POLICY },
    senderOf: (owner: Owner) => sender(receivers.senderOf(owner)),
    storage: store(memory),
    alter: core,
    witness: (...call: Parameters<typeof record.witness>) => {
      record.witness(...call)
      sessions.witness(...call)
    },
    signalOf: sharedSignal(world, weather),
    ids: fakeIds(),
  }
  let starts = 0
  const start = (place: number): void => {
    processes[place] = startProcess(around, `p${place + 1}.${++starts}`)
  }
  const count = 1 + dice.below(MOST_PROCESSES)
  for (let place = 0; place < count; place++) start(place)

  const { projectId, agentIds, webhookUrls } = await settle(world, populate(somebody, 1 + dice.below(2), 1 + dice.below(2)))
  Object.assign(weather, badWeather(dice))
  const users = createUsers({ world, weather, projectId, agents: agentIds, somebody })
  const nemesis = startNemesis({ world, weather, faults, processes, restart: start })
  for (let n = 0; n < USERS; n++) users.come(DEEDS)
  const areAnswered = await world.until(() => users.busy === 0, LONGEST_RUN_MS)

  nemesis.end()
  Object.assign(weather, fine())
  world.note('all is healed')
  const isDrained = await drain({ world, processes, start, somebody, storage: memory, projectId, agentIds })
  const isVisitor = (url: string): boolean => !webhookUrls.has(url)
  const parts = {
    seed,
    startedAt,
    policy: POLICY,
    projectId,
    agentIds,
    isVisitor,
    storage: memory,
    record,
    faults,
    users,
    agents,
    receivers,
  }
  const history = await historyOf(parts)
  const outside = [
    ...(areAnswered ? [] : [`${users.busy} users still wait for an answer`]),
    ...(isDrained ? [] : ['something is left to be done, and nobody does it']),
    ...check(history).map(({ invariant, of, what }) => `${invariant}: ${of}: ${what}`),
  ]
  return { seed, hash: world.hash(), lines: world.lines, breaches: { inside: sessions.breaches, outside }, history }
}

const asItIs = <T>(port: T): T => port

/** Lets time go on until the promise has settled. */
async function settle<T>(world: World, work: Promise<T>): Promise<T> {
  let isSettled = false
  void work.finally(() => {
    isSettled = true
  })
  await world.until(() => isSettled, LONGEST_RUN_MS)
  return work
}

type Somebody = () => Process | undefined

/** While nothing goes wrong yet. */
async function populate(somebody: Somebody, agentCount: number, webhookCount: number) {
  const ask = async <T, E>(request: (service: MessagingService) => PromiseLike<Result<T, E>>): Promise<T> => {
    const answer = await somebody()?.ask(request)
    if (!answer) throw new Error('the first process has gone')
    return answer._unsafeUnwrap()
  }
  const { id: projectId } = await ask((service) => service.projects.create({ name: 'simulated' }))
  const agentIds: string[] = []
  for (let n = 1; n <= agentCount; n++) {
    const settings = { projectId, name: `agent-${n}`, runtime: { kind: KIND }, desiredState: 'running', maxQueued: MOST_QUEUED } as const
    agentIds.push((await ask((service) => service.agents.create({ ...settings, concurrency: 1 + n, maxAttempts: 1 + n }))).agent.id)
  }
  const webhookUrls = new Set<string>()
  for (let n = 1; n <= webhookCount; n++) {
    const { webhook } = await ask((service) => service.webhooks.create(newReceiver(projectId, `receiver-${n}`)))
    webhookUrls.add(webhook.url)
  }
  return { projectId, agentIds, webhookUrls }
}

/** An agent that calls back does so until it is heard, for a while. */
function callBackTo(world: World, faults: ReturnType<typeof createFaults>, somebody: Somebody): CallBack {
  return (answer, tries = 4) => {
    const again = (): void => {
      faults.brief('a callback was not taken', 0)
      if (tries > 1) world.after(world.dice.below(SECOND), () => callBackTo(world, faults, somebody)(answer, tries - 1))
    }
    const asked = somebody()?.ask((service) => service.messages.answer(answer))
    if (asked) void asked.then((taken) => (taken?.isOk() ? undefined : again()))
    else again()
  }
}

type DrainOptions = {
  readonly world: World
  readonly processes: readonly Process[]
  readonly start: (place: number) => void
  readonly somebody: Somebody
  readonly storage: Storage
  readonly projectId: string
  readonly agentIds: readonly string[]
}

/** Everything works again; says whether everything gets done. */
async function drain({ world, processes, start, somebody, storage, projectId, agentIds }: DrainOptions): Promise<boolean> {
  for (const [place, { isAlive }] of processes.entries()) if (!isAlive) start(place)
  for (let waited = 0; waited < LONGEST_DRAIN_MS; waited += LOOK_MS) {
    const webhooks = (await storage.webhooks.list(projectId, { limit: 100 }))._unsafeUnwrap().data
    for (const { id: webhookId, status } of webhooks) {
      if (status.kind === 'disabled') void somebody()?.ask((service) => service.webhooks.enable({ projectId, webhookId }))
    }
    for (const agent of agentIds) void somebody()?.ask((service) => service.agents.start({ projectId, agent }))
    await world.until(() => false, LOOK_MS)
    const { queued, running, deferred } = (await storage.messages.backlog(world.now()))._unsafeUnwrap()
    const { open } = (await storage.deliveries.backlog(world.now()))._unsafeUnwrap()
    if (queued + running + deferred + open === 0) return true
  }
  return false
}
