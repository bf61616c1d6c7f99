import type {
  Agent,
  Instant,
  Message,
  Webhook,
  DeliveryDetail,
  Page,
} from '@org/agent-messaging-core'
import type { Storage, PageOf } from '@org/agent-messaging-core/storage'
import { anAgent, aProject, aWebhook, PROJECT_ID } from '../builders.js'
import {
  answerOf,
  attemptOf,
  createSteps,
  LONGEST_WAIT_MS,
  outgoingOf,
  type Process,
} from './messages/random-steps.js'
import { createDice } from '../dice.js'
import type { History } from './history.js'
import { createRecorder, type RecordedCalls } from './recorder.js'
import { CLAIM_ALL, NOW, SECOND, heldBy } from './scene.js'
import { unwrapped, type UnwrappedStorage } from './unwrapped.js'

/**
 * `storages` are instances on the same, empty data. A seed asks the same things of storages that
 * answer in the same order.
 */
export type Workload = {
  readonly storages: readonly [Storage, ...Storage[]]
  readonly seed: number
  readonly rounds: number
}

const AGENTS = 2
const PROCESSES = 5
const CALLS_AT_ONCE = 16
const DRAIN_ROUNDS = 100

/**
 * Processes that send, run and deliver on shared keys, sessions and webhooks, many calls at once;
 * they crash, stall past their leases and repeat calls. Then they are healed and work until
 * nothing is due. Time is a number that only grows here.
 */
export async function runWorkload({ storages, seed, rounds }: Workload): Promise<History> {
  const [first] = storages
  const dice = createDice(seed)
  const recorder = createRecorder()
  const { agents, webhooks } = await populate(unwrapped(first))
  const steps = createSteps(dice, agents)
  const processes = Array.from({ length: PROCESSES }, (_, index): Process => {
    const storage = storages[index % storages.length] ?? first
    return { calls: recorder.through(unwrapped(storage)), runs: [], deliveries: [] }
  })

  let now = NOW
  for (let round = 0; round < rounds; round++) {
    // Now and then all of them stall for longer than their leases.
    now += dice.chance(0.1) ? dice.below(20 * SECOND) : dice.below(SECOND)
    await Promise.all(
      Array.from({ length: CALLS_AT_ONCE }, () => dice.weighted(steps)(dice.oneOf(processes), now)),
    )
  }
  await drain(recorder.through(unwrapped(first)), agents, now)
  const { sends, runs, deliveries } = recorder
  return { sends, runs, deliveries, webhooks, ...(await readWhatIsLeft(unwrapped(first), agents)) }
}

async function populate(
  storage: UnwrappedStorage,
): Promise<{ agents: Agent[]; webhooks: Webhook[] }> {
  const agents = Array.from({ length: AGENTS }, () => anAgent({ maxQueued: 8, maxAttempts: 1_000 }))
  const webhooks = [
    aWebhook(),
    aWebhook({ events: ['message.responded'] }),
    aWebhook({ events: ['agent.error'] }),
  ]
  await storage.credentials.createProject(aProject())
  for (const agent of agents) await storage.agents.create(agent, 1_000)
  for (const webhook of webhooks) await storage.webhooks.create(webhook, 10)
  return { agents, webhooks }
}

/**
 * One process that neither fails nor stalls does all that is left, every lease and every deadline
 * of the others being over.
 */
async function drain(
  calls: RecordedCalls,
  agents: readonly Agent[],
  start: Instant,
): Promise<void> {
  const lanes = agents.map(({ id }) => ({ agentId: id, free: 100 }))
  for (let round = 1; round <= DRAIN_ROUNDS; round++) {
    const now = start + round * LONGEST_WAIT_MS
    const runs = await calls.claimRunnable({ lanes, now, until: now + SECOND })
    for (const run of runs)
      await calls.recordRun({
        ...heldBy(run),
        state: answerOf(run, now),
        now,
        ...outgoingOf(run, answerOf(run, now), now),
      })
    const deliveries = await calls.claimDue({ ...CLAIM_ALL, now, until: now + SECOND })
    // At once: a store can wait a little for others before a commit without a waiting caller.
    await Promise.all(
      deliveries.map((claimed) => calls.recordAttempt(attemptOf(claimed, now, true))),
    )
    if (runs.length + deliveries.length === 0) return
  }
}

async function readWhatIsLeft(
  storage: UnwrappedStorage,
  agents: readonly Agent[],
): Promise<{ messagesLeft: Message[]; deliveriesLeft: DeliveryDetail[] }> {
  const { messages, deliveries } = storage
  const messagesLeft = []
  for (const { id } of agents)
    messagesLeft.push(
      ...(await readAll((page) => messages.list({ projectId: PROJECT_ID, agentId: id }, page))),
    )
  const found = await readAll((page) => deliveries.list({ projectId: PROJECT_ID }, page))
  const details = await Promise.all(found.map(({ id }) => deliveries.get(PROJECT_ID, id)))
  return { messagesLeft, deliveriesLeft: details.filter((detail) => detail !== undefined) }
}

async function readAll<T>(list: (page: PageOf) => Promise<Page<T>>): Promise<T[]> {
  const rows: T[] = []
  let cursor: string | null = null
  do {
    const page: Page<T> = await list({ limit: 100, ...(cursor !== null && { cursor }) })
    rows.push(...page.data)
    cursor = page.nextCursor
  } while (cursor !== null)
  return rows
}
