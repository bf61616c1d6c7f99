import fc from 'fast-check'
import { expect } from 'vitest'
import type { Agent, Instant } from '@org/agent-messaging-core'
import type { AfterRun, HeldRun } from '@org/agent-messaging-core/storage'
import { anEvent, newMessage } from '../../builders.js'
import { heldBy, NOW, type Scene } from '../scene.js'
import { type ModelMessage, SessionModel } from '../../session-model.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

/**
 * A failure prints the shortest sequence of steps that shows it, with a seed and two paths: to see
 * it again, put the first path and the seed into PARAMETERS, and `replayPath` beside
 * `maxCommands`.
 */
const PARAMETERS = { numRuns: 60 } as const
const LONGEST_SEQUENCE = { maxCommands: 60, size: 'max' } as const
/** For a database far away. */
const TIMEOUT_MS = 240_000

const MAX_QUEUED = 3
const MAX_ATTEMPTS = 2
const LEASE_MS = 10

/**
 * The model and the store, and the work of processes: claims that hold, and those that are
 * lost and will come too late.
 */
type World = {
  readonly model: SessionModel
  readonly store: UnwrappedStorage['messages']
  readonly agent: Agent
  readonly scene: Scene
}
type Clock = { now: Instant; readonly claims: HeldRun[] }
type Step = (world: World & Clock) => Promise<void>

export function modelSuite(it: StorageTest): void {
  it(
    'G2, G5: any sequence of steps does what a simple model says',
    { timeout: TIMEOUT_MS },
    async ({ storage, scene }) => {
      const property = fc.asyncProperty(
        fc.commands([...steps], LONGEST_SEQUENCE),
        async (sequence) => {
          const agent = await scene.agent({ maxQueued: MAX_QUEUED, maxAttempts: MAX_ATTEMPTS })
          const world = {
            ...{ store: storage.messages, agent, scene },
            model: new SessionModel(MAX_QUEUED, MAX_ATTEMPTS),
            now: NOW,
            claims: [],
          }
          await fc.asyncModelRun(() => ({ model: world, real: world }), sequence)
          await expectSameEnd(world)
        },
      )
      await fc.assert(property, PARAMETERS)
    },
  )
}

/** Every session has the messages of the model at their places, each in its state. */
async function expectSameEnd({ model, store, agent }: World): Promise<void> {
  const of = { projectId: agent.projectId, agentId: agent.id }
  const { data } = await store.listSessions(of, { limit: 100 })
  expect(new Map(data.map(({ sessionId, openCount }) => [sessionId, openCount]))).toEqual(
    new Map([...model.sessions].map(([sessionId, { open }]) => [sessionId, open.length])),
  )
  for (const [sessionId, { all }] of model.sessions) {
    const listed = await store.list({ ...of, sessionId, order: 'asc' }, { limit: 100 })
    expect(
      listed.data.map(({ id, attempt, state }) => ({ id, attempt, kind: state.kind })),
    ).toEqual(all.map(({ id, attempt, kind }) => ({ id, attempt, kind })))
  }
}

const accept =
  (session: number, user: number, key: number, claims: boolean): Step =>
  async ({ model, store, agent, now, claims: held }) => {
    const sent = {
      sessionId: `s${session}`,
      idempotencyKey: `k${key}`,
      now,
      ...(claims && { claimUntil: now + LEASE_MS }),
    }
    const endUserId = `u${user}`
    const message = newMessage(agent, {
      ...sent,
      executionPrincipal: { type: 'end_user', endUserId },
    })
    const accepted = await store.accept(message)
    expect(accepted.kind).toBe(
      model.accept({ ...message, endUserId }, sent.idempotencyKey, now, claims),
    )
    if (accepted.kind !== 'claimed') return
    held.push(heldBy(accepted.claimed))
    model.claim(messageOf(model, message.id), accepted.claimed.lease.token, now + LEASE_MS)
  }

/** Of the due sessions their heads, each under a different token. */
const claim =
  (free: number): Step =>
  async ({ model, store, agent, now, claims }) => {
    const due = model.due(now)
    const claimed = await store.claimRunnable({
      lanes: [{ agentId: agent.id, free }],
      now,
      until: now + LEASE_MS,
    })
    expect(claimed).toHaveLength(Math.min(free, due.length))
    for (const run of claimed) {
      const message = messageOf(model, run.message.id)
      expect(due).toContain(message)
      expect(claims).not.toContainEqual(heldBy(run))
      model.claim(message, run.lease.token, now + LEASE_MS)
      claims.push(heldBy(run))
    }
  }

const record =
  (pick: number, kind: AfterRun['kind'], waitMs: number): Step =>
  async ({ model, store, claims, now }) => {
    const held = oneOf(claims, pick)
    if (!held) return
    const recorded = await store.recordRun({
      ...held,
      state: stateOf(kind, now, now + waitMs),
      now,
    })
    expect(recorded.kind).toBe(
      model.finish(held, kind, now, now + waitMs) ? 'recorded' : 'lease_lost',
    )
  }

const defer =
  (pick: number, waitMs: number): Step =>
  async ({ model, store, claims, now }) => {
    const held = oneOf(claims, pick)
    if (!held) return
    const deferred = await store.defer({
      ...held,
      state: { kind: 'deferred', startedAt: now, deadlineAt: now + waitMs },
    })
    expect(deferred).toBe(
      model.finish(held, 'deferred', now, now + waitMs) ? 'deferred' : 'lease_lost',
    )
  }

/** The id of a question is the id of its message, so that late steps find it. */
const ask =
  (pick: number, waitMs: number): Step =>
  async ({ model, store, agent, scene, claims, now }) => {
    const held = oneOf(claims, pick)
    if (!held) return
    const asked = await store.ask({
      ...held,
      state: {
        kind: 'input_required',
        askedAt: now,
        deadlineAt: now + waitMs,
        dueAt: now + waitMs,
      },
      inputs: Array.from({ length: questionsOf(model, held) + 1 }, () => ({
        id: held.messageId,
        question: 'Which?',
        askedAt: now,
      })),
      outgoing: scene.outgoing(anEvent(agent)),
    })
    expect(asked.kind).toBe(model.ask(held, now) ? 'recorded' : 'lease_lost')
  }

const questionsOf = ({ messages }: SessionModel, { messageId }: HeldRun): number =>
  messages.get(messageId)?.questions ?? 0

const endWait =
  (pick: number, kind: 'queued' | 'failed', waitMs: number): Step =>
  async ({ model, store, agent, scene, now }) => {
    const message = oneOf([...model.messages.values()], pick)
    if (!message) return
    const inputs = Array.from({ length: message.questions }, () => ({
      id: message.id,
      question: 'Which?',
      askedAt: now,
    }))
    const changed = await store.changeInput({
      ...refOf(agent, message),
      inputId: message.id,
      state:
        kind === 'queued'
          ? { kind, notBefore: now + waitMs }
          : { kind, error: { code: 'INPUT_EXPIRED', message: 'late' }, failedAt: now },
      inputs,
      now,
      outgoing: scene.outgoing(anEvent(agent)),
    })
    expect(changed?.kind).toBe(
      model.endWait(message, kind, now, now + waitMs) ? 'changed' : 'not_waiting',
    )
  }

const extend =
  (pick: number): Step =>
  async ({ model, store, claims, now }) => {
    const held = oneOf(claims, pick)
    if (!held) return
    const lost = await store.extendLeases([held], now + LEASE_MS)
    expect(lost).toEqual(model.finish(held, 'running', now, now + LEASE_MS) ? [] : [held.messageId])
  }

const cancel =
  (pick: number): Step =>
  async ({ model, store, agent, scene, now }) => {
    const message = oneOf([...model.messages.values()], pick)
    if (!message) return
    const state = { kind: 'cancelled', cancelledAt: now } as const
    const cancelled = await store.cancel({
      ...refOf(agent, message),
      state,
      outgoing: scene.outgoing(anEvent(agent)),
    })
    expect(cancelled?.kind).toBe(model.cancel(message, now))
  }

const retry =
  (pick: number): Step =>
  async ({ model, store, agent, now }) => {
    const message = oneOf([...model.messages.values()], pick)
    if (!message) return
    expect((await store.retry({ ...refOf(agent, message), now }))?.kind).toBe(
      model.retry(message, now),
    )
  }

const erase =
  (session: number, sweeps: boolean): Step =>
  async ({ model, store, agent: { projectId, id: agentId }, now }) => {
    const sessionId = `s${session}`
    expect(await store.erase({ projectId, agentId, sessionId })).toBe(model.erase(sessionId))
    if (sweeps) await store.sweep({ limit: 2, now })
  }

const erasePrincipal =
  (user: number, force: boolean): Step =>
  async ({ model, store, agent: { projectId, id: agentId }, now }) => {
    const step = {
      projectId,
      agentId,
      endUserId: `u${user}`,
      force,
      countOnly: false,
      now,
      after: 0,
      limit: 1_000,
    }
    expect(await store.erasePrincipal(step)).toEqual(
      model.erasePrincipal(step.endUserId, force, now),
    )
  }

/** The process forgets what it held: no answer follows, and the lease has to end. */
const crash =
  (pick: number): Step =>
  async ({ claims }) =>
    void claims.splice(pick % Math.max(1, claims.length), 1)

const jump =
  (ms: number): Step =>
  async (world) => {
    world.now += ms
  }

const step = <A extends unknown[]>(
  name: string,
  act: (...args: A) => Step,
  ...of: { [I in keyof A]: fc.Arbitrary<A[I]> }
) =>
  fc.tuple<A>(...of).map((args) => ({
    check: () => true,
    run: (world: World & Clock) => act(...args)(world),
    toString: () => `${name}(${args.join(', ')})`,
  }))

const session = fc.nat(1)
const user = fc.nat(1)
const pick = fc.nat(20)
const wait = fc.nat(2 * LEASE_MS)
/** The parts that all operations need. */
const often = [
  step('accept', accept, session, user, fc.nat(30), fc.boolean()),
  step('claim', claim, fc.integer({ min: 1, max: 2 })),
  step('record', record, pick, fc.constantFrom('responded', 'failed', 'queued'), wait),
]
const steps = [
  ...often,
  ...often,
  step('defer', defer, pick, wait),
  step('ask', ask, pick, wait),
  step('ask', ask, pick, wait),
  step('endWait', endWait, pick, fc.constantFrom('queued', 'failed'), wait),
  step('endWait', endWait, pick, fc.constantFrom('queued', 'failed'), wait),
  step('extend', extend, pick),
  step('cancel', cancel, pick),
  step('retry', retry, pick),
  step('erase', erase, session, fc.boolean()),
  step('erasePrincipal', erasePrincipal, user, fc.boolean()),
  step('crash', crash, pick),
  step('jump', jump, fc.integer({ min: -LEASE_MS, max: 2 * LEASE_MS })),
]

const oneOf = <T>(items: readonly T[], pick: number): T | undefined =>
  items[pick % Math.max(1, items.length)]

function messageOf({ messages }: SessionModel, id: string): ModelMessage {
  const message = messages.get(id)
  if (message) return message
  throw new Error(`the model has no message ${id}`)
}

const refOf = ({ projectId, id: agentId }: Agent, { id: messageId }: ModelMessage) => ({
  projectId,
  agentId,
  messageId,
})

function stateOf(kind: AfterRun['kind'], now: Instant, notBefore: Instant): AfterRun {
  if (kind === 'queued') return { kind, notBefore }
  if (kind === 'failed')
    return { kind, error: { code: 'RUNTIME_ERROR', message: 'it broke' }, failedAt: now }
  return { kind, response: 'done', respondedAt: now, responseTimeMs: 0 }
}
