import type { Agent, Instant } from '@org/agent-messaging-core'
import type {
  AfterAttempt,
  AfterRun,
  AttemptRecord,
  ClaimedDelivery,
  Outgoing,
  ClaimedMessage,
} from '@org/agent-messaging-core/storage'
import { anEvent, newMessage } from '../../builders.js'
import { fakeIds } from '../../fakes/fake-ids.js'
import { accepted, refused } from '../../fakes/fake-sender.js'
import type { Dice } from '../../dice.js'
import type { RecordedCalls } from '../recorder.js'
import { CLAIM_ALL, SECOND, heldBy } from '../scene.js'

/**
 * The work of one process. It is late with much of it at any time, and forgets all of it when it
 * crashes.
 */
export type Process = {
  readonly calls: RecordedCalls
  runs: ClaimedMessage[]
  deliveries: ClaimedDelivery[]
}

/** One step that a process can take next. */
export type Step = (process: Process, now: Instant) => Promise<void>

const SESSIONS = 4
const KEYS_AT_A_TIME = 5
/** How long the same keys are used. */
const KEY_PERIOD_MS = 20 * SECOND
const LEASE_MS = 10 * SECOND
export const LONGEST_WAIT_MS = 60 * SECOND

const ids = fakeIds(0xc0d)

/** The operations of processes, with their weights. */
export function createSteps(
  dice: Dice,
  agents: readonly Agent[],
): (readonly [weight: number, step: Step])[] {
  /** Now and then a call is repeated, as after a lost answer. */
  const perhapsTwice = <T>(call: () => Promise<T>): Promise<T[]> =>
    Promise.all(dice.chance(0.1) ? [call(), call()] : [call()])

  const send: Step = async ({ calls, runs }, now) => {
    const message = newMessage(dice.oneOf(agents), {
      ...{ id: ids.next(), sessionId: `session ${dice.below(SESSIONS)}`, now },
      ...(dice.chance(0.5) && {
        idempotencyKey: `key ${dice.below(KEYS_AT_A_TIME)} of ${Math.floor(now / KEY_PERIOD_MS)}`,
      }),
      ...(dice.chance(0.6) && { claimUntil: now + LEASE_MS }),
    })
    for (const claimed of await perhapsTwice(() => calls.accept(message)))
      if (claimed) runs.push(claimed)
  }

  const claimRuns: Step = async ({ calls, runs }, now) => {
    const lanes = agents.map(({ id }) => ({ agentId: id, free: 1 + dice.below(3) }))
    runs.push(...(await calls.claimRunnable({ lanes, now, until: now + LEASE_MS })))
  }

  const finishRun: Step = async ({ calls, runs, deliveries }, now) => {
    const run = dice.takeOne(runs)
    if (!run) return
    const state = dice.weighted(AFTER_RUN)(run, now)
    const claim = dice.chance(0.5)
      ? { until: now + LEASE_MS, except: new Set<string>() }
      : undefined
    const answers = await perhapsTwice(() =>
      calls.recordRun({ ...heldBy(run), state, now, ...outgoingOf(run, state, now, claim) }),
    )
    for (const answer of answers)
      if (answer.kind === 'recorded') deliveries.push(...answer.deliveries)
  }

  const defer: Step = async ({ calls, runs }, now) => {
    if (runs.length === 0) return
    const run = dice.oneOf(runs)
    const state = {
      kind: 'deferred',
      startedAt: run.message.state.startedAt,
      deadlineAt: now + dice.below(LONGEST_WAIT_MS),
    } as const
    await calls.defer({ ...heldBy(run), state })
  }

  const extend: Step = async (process, now) => {
    const notices = dice.chance(0.5) // otherwise the process goes on and is too late
    // The answer names messages, so of two claims of one message only the newer is asked for.
    const held = new Map(process.runs.map((run) => [run.message.id, heldBy(run)]))
    const lost = await process.calls.extendLeases([...held.values()], now + LEASE_MS)
    if (notices) process.runs = process.runs.filter(({ message }) => !lost.includes(message.id))
  }

  const claimDeliveries: Step = async ({ calls, deliveries }, now) => {
    const query = {
      ...CLAIM_ALL,
      now,
      until: now + LEASE_MS,
      limit: 1 + dice.below(6),
      perWebhook: 1 + dice.below(3),
    }
    deliveries.push(...(await calls.claimDue(query)))
  }

  const finishDelivery: Step = async ({ calls, deliveries }, now) => {
    const claimed = dice.takeOne(deliveries)
    if (!claimed) return
    const isTaken = dice.chance(0.6)
    await perhapsTwice(() => calls.recordAttempt(attemptOf(claimed, now, isTaken)))
  }

  const giveUpDeliveries: Step = async ({ calls, deliveries }, now) => {
    const held = deliveries.splice(0).map(({ delivery, lease, webhook: { health } }) => {
      return {
        deliveryId: delivery.id,
        token: lease.token,
        isProbe: health.circuit.kind === 'open',
      }
    })
    await Promise.all(held.flatMap((one) => perhapsTwice(() => calls.release(one, now))))
  }

  const crash: Step = async (process) => {
    process.runs = []
    process.deliveries = []
  }

  return [
    [30, send],
    [15, claimRuns],
    [30, finishRun],
    [5, defer],
    [8, extend],
    [12, claimDeliveries],
    [30, finishDelivery],
    [2, giveUpDeliveries],
    [2, crash],
  ]
}

/** Each run has a different answer. */
export const answerOf = ({ message }: ClaimedMessage, now: Instant): AfterRun => ({
  kind: 'responded',
  response: `${message.id}, attempt ${message.attempt}`,
  respondedAt: now,
  responseTimeMs: 1,
})

const AFTER_RUN: readonly (readonly [
  weight: number,
  decide: (run: ClaimedMessage, now: Instant) => AfterRun,
])[] = [
  [70, answerOf],
  [15, (_, now) => ({ kind: 'queued', notBefore: now + 3 * SECOND })],
  [
    15,
    ({ message }, now) => ({
      kind: 'failed',
      error: { code: 'RUNTIME_ERROR', message: `attempt ${message.attempt}` },
      failedAt: now,
    }),
  ],
]

/** A final state comes with its event; no two runs have the same one, nor the same body. */
export function outgoingOf(
  { message }: ClaimedMessage,
  state: AfterRun,
  now: Instant,
  claim?: Outgoing['claim'],
): { outgoing?: Outgoing } {
  if (state.kind === 'queued') return {}
  const name = state.kind === 'responded' ? 'message.responded' : 'agent.error'
  const body = `${name} of ${message.id}, attempt ${message.attempt}`
  const event = anEvent(
    { id: message.agentId, projectId: message.projectId },
    { id: ids.next(), name, body, createdAt: now },
  )
  return { outgoing: { events: [event], nextDeliveryId: ids.next, ...(claim && { claim }) } }
}

export function attemptOf(
  { delivery, lease }: ClaimedDelivery,
  now: Instant,
  isTaken: boolean,
): AttemptRecord {
  const pending: AfterAttempt = {
    kind: 'pending',
    nextAttemptAt: now + 2 * SECOND,
    step: delivery.state.step + 1,
  }
  const state: AfterAttempt = isTaken ? { kind: 'delivered', deliveredAt: now } : pending
  const attempt = { startedAt: now, durationMs: 1, outcome: isTaken ? accepted() : refused() }
  return { deliveryId: delivery.id, token: lease.token, attempt, state }
}
