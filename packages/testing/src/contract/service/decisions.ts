import { expect } from 'vitest'
import {
  type AfterAttempt,
  attemptCounts,
  holdsRun,
  newDeliveryClaim,
  newMessageClaim,
  isFinal,
  type AfterRun,
  untried,
  type ClaimedDelivery,
  type ClaimedMessage,
} from '@org/agent-messaging-core/storage'
import { newMessage } from '../../builders.js'
import { accepted, refused, unreachable } from '../../fakes/fake-sender.js'
import { heldBy, LEASE_MS, MINUTE, NOW, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

// A store can decide in SQL. These tests compare each store with the functions of the domain.

const UNTIL = NOW + LEASE_MS
const CLAIM = { until: UNTIL, except: new Set<string>() }
const RESPONDED = { kind: 'responded', response: '', respondedAt: NOW, responseTimeMs: 1 } as const
const FAILED = {
  kind: 'failed',
  error: { code: 'RUNTIME_ERROR', message: 'failed' },
  failedAt: NOW,
} as const
const QUEUED = { kind: 'queued', notBefore: NOW + MINUTE } as const
const DEFERRED = { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + MINUTE } as const

type RunChange = (messages: UnwrappedStorage, scene: Scene, run: ClaimedMessage) => Promise<unknown>
const settle =
  (state: AfterRun): RunChange =>
  ({ messages }, _, run) =>
    messages.recordRun({ ...heldBy(run), state, now: NOW })

/** The history of a run before a result arrives. */
const RUN_CHANGES: Readonly<Record<string, RunChange>> = {
  running: async () => undefined,
  deferred: ({ messages }, _, run) => messages.defer({ ...heldBy(run), state: DEFERRED }),
  queued: settle(QUEUED),
  responded: settle(RESPONDED),
  failed: settle(FAILED),
  cancelled: (_, scene, run) => scene.cancel(run.message),
  reclaimed: async ({ messages }, _, { message: { agentId } }) =>
    messages.claimRunnable({ lanes: [{ agentId, free: 1 }], now: UNTIL, until: UNTIL + 1 }),
}

const DELIVERED = { kind: 'delivered', deliveredAt: NOW } as const
const EXHAUSTED = { kind: 'exhausted', exhaustedAt: NOW } as const
const PENDING = { kind: 'pending', nextAttemptAt: NOW + MINUTE, step: 1 } as const

const record = (
  { deliveries }: UnwrappedStorage,
  { delivery }: ClaimedDelivery,
  token: number,
  outcome = refused(),
  state: AfterAttempt = PENDING,
) =>
  deliveries.recordAttempt({
    deliveryId: delivery.id,
    token,
    attempt: { startedAt: NOW, durationMs: 1, outcome },
    state,
  })

type DeliveryChange = (storage: UnwrappedStorage, claimed: ClaimedDelivery) => Promise<unknown>
const attempted =
  (state: AfterAttempt): DeliveryChange =>
  (storage, claimed) =>
    record(storage, claimed, claimed.lease.token, refused(), state)

/** The history of a delivery before the result of an attempt arrives. */
const DELIVERY_CHANGES: Readonly<Record<string, DeliveryChange>> = {
  sending: async () => undefined,
  pending: attempted(PENDING),
  delivered: attempted(DELIVERED),
  exhausted: attempted(EXHAUSTED),
  cancelled: ({ deliveries }, { delivery }) =>
    deliveries.cancel(delivery.projectId, delivery.id, NOW),
  released: ({ deliveries }, { delivery, lease }) =>
    deliveries.release([{ deliveryId: delivery.id, token: lease.token, isProbe: false }], NOW),
}

export function decisionsSuite(it: StorageTest): void {
  it.for(Object.keys(RUN_CHANGES))(
    'a store and holdsRun agree about a message that is %s',
    async (change, { storage, scene }) => {
      const run = await scene.run(await scene.agent())
      await RUN_CHANGES[change]?.(storage, scene, run)
      const held = await storage.messages.getHeld(run.message.id)
      if (!held) throw new Error('the message is missing')
      const { state } = held.message
      for (const token of [held.token + 1, held.token - 1, held.token]) {
        const isHead = !isFinal(state)
        const expected = holdsRun({ state: state.kind, lease: held.token, isHead }, token)
        const given = { messageId: run.message.id, token }
        expect(await storage.messages.rememberSession({ ...given, sessionState: '{}' })).toBe(
          expected ? 'remembered' : 'lease_lost',
        )
        const { kind } = await storage.messages.recordRun({ ...given, state: QUEUED, now: NOW })
        expect(kind).toBe(expected ? 'recorded' : 'lease_lost')
      }
    },
  )

  it.for(Object.keys(DELIVERY_CHANGES))(
    'a store and attemptCounts agree about a delivery that is %s',
    async (change, { storage, scene }) => {
      const agent = await scene.agent()
      await scene.webhook()
      for (const outcome of [accepted(), refused(), unreachable()])
        for (const isOwn of [true, false]) {
          const [claimed] = await scene.publish(agent, {}, CLAIM)
          if (!claimed) throw new Error('the delivery is not claimed')
          await DELIVERY_CHANGES[change]?.(storage, claimed)
          const { delivery } = claimed
          const kept = await storage.deliveries.get(delivery.projectId, delivery.id)
          const state = kept?.delivery.state.kind
          const lease = claimed.lease.token
          const row = {
            isOpen: state === 'pending' || state === 'sending',
            isClaimed: state === 'sending',
            lease,
          }
          const token = isOwn ? lease : lease + 1
          const { kind } = await record(storage, claimed, token, outcome, EXHAUSTED)
          expect(kind === 'recorded', `${outcome.kind} with own token ${isOwn}`).toBe(
            attemptCounts(row, token, outcome.kind),
          )
        }
    },
  )

  it('a store and newMessageClaim agree about new messages', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent({ maxQueued: 9 })
    for (const claimUntil of [UNTIL, undefined])
      for (const isHead of [true, false]) {
        const sessionId = `session ${claimUntil} ${isHead}`
        if (!isHead) await scene.send(agent, { sessionId })
        const claim = claimUntil === undefined ? {} : { claimUntil }
        const { kind } = await messages.accept(newMessage(agent, { sessionId, ...claim }))
        expect(kind === 'claimed').toBe(newMessageClaim(claimUntil, isHead) !== undefined)
      }
  })

  it('a store and newDeliveryClaim agree about new deliveries', async ({ scene }) => {
    const agent = await scene.agent()
    const circuit = { kind: 'open', until: NOW, trips: 1 } as const
    const webhooks = [
      await scene.webhook(),
      await scene.webhook(),
      await scene.webhook({ status: { kind: 'disabled', reason: 'operator', at: NOW } }),
      await scene.webhook({ health: { ...untried, circuit } }),
    ]
    const excepted = [[], [webhooks[0]?.id ?? ''], [agent.projectId]]
    for (const except of [...excepted.map((ids) => new Set(ids)), undefined]) {
      const claim = except && { until: UNTIL, except }
      const claimed = await scene.publish(agent, {}, claim)
      const expected = webhooks.filter((webhook) => newDeliveryClaim(webhook, claim).until)
      expect(claimed.map(({ webhook }) => webhook.id).sort()).toEqual(
        expected.map(({ id }) => id).sort(),
      )
    }
  })
}
