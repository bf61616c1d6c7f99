import fc from 'fast-check'
import { expect } from 'vitest'
import type { Agent, WebhookDelivery, Instant } from '@org/agent-messaging-core'
import type {
  AfterAttempt,
  ClaimedDelivery,
  OperatorReason,
} from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { accepted, refused } from '../../fakes/fake-sender.js'
import { CLAIM_ALL, NOW, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const PARAMETERS = { numRuns: 40 } as const
/** For a database far away. */
const TIMEOUT_MS = 240_000
const LEASE_MS = 10
const PAGE = { limit: 100 }

type World = {
  readonly storage: UnwrappedStorage
  readonly store: UnwrappedStorage['deliveries']
  readonly scene: Scene
  readonly agent: Agent
  readonly webhookId: string
  readonly claims: ClaimedDelivery[]
  /** Deliveries that an operator sent out of order. */
  readonly redelivered: Set<string>
  /** Ids in the order of their first claims. */
  readonly started: string[]
  now: Instant
}
type Step = (world: World) => Promise<unknown>

export function orderModelSuite(it: StorageTest): void {
  it(
    'exactly one open delivery of a session can be sent, after any sequence of steps',
    { timeout: TIMEOUT_MS },
    async ({ storage, scene }) => {
      const agent = await scene.agent()
      const property = fc.asyncProperty(fc.array(anyStep, { maxLength: 40 }), async (sequence) => {
        const { id: webhookId } = await scene.webhook({ ordering: 'session' })
        const world: World = {
          storage,
          store: storage.deliveries,
          scene,
          agent,
          webhookId,
          claims: [],
          redelivered: new Set(),
          started: [],
          now: NOW,
        }
        for (const { act } of sequence) {
          await act(world)
          await expectOneFirst(world)
        }
        await expectDrained(world)
        await storage.webhooks.delete(PROJECT_ID, webhookId)
      })
      await fc.assert(property, PARAMETERS)
    },
  )
}

/** All deliveries of the world's webhook, oldest first. */
async function allOf({ store, webhookId }: World): Promise<WebhookDelivery[]> {
  const { data } = await store.list({ projectId: PROJECT_ID, webhookId }, PAGE)
  return [...data].reverse()
}

const isOpen = ({ state: { kind } }: WebhookDelivery): boolean =>
  kind === 'pending' || kind === 'sending' || kind === 'waiting'

async function expectOneFirst(world: World): Promise<void> {
  const open = (await allOf(world)).filter(isOpen)
  for (const key of new Set(open.map(({ orderKey }) => orderKey))) {
    if (key === undefined) continue
    const [first, ...others] = open.filter(({ orderKey }) => orderKey === key)
    expect(first?.state.kind).not.toBe('waiting')
    for (const { state } of others) expect(state).toEqual({ kind: 'waiting', blockedBy: first?.id })
  }
  for (const { orderKey, state } of open)
    if (orderKey === undefined) expect(state.kind).not.toBe('waiting')
}

/** Every delivery can be delivered, and first attempts kept the order of the events. */
async function expectDrained(world: World): Promise<void> {
  await setDisabled(false)(world)
  for (let left = PAGE.limit; left > 0; left--) {
    world.now += 100 * LEASE_MS
    world.claims.length = 0
    await claim(100)(world)
    if (world.claims.length === 0) break
    for (let place = 0; place < world.claims.length; place++)
      await record(place, 'delivered')(world)
  }
  const all = await allOf(world)
  expect(all.filter(isOpen)).toEqual([])
  const places = new Map(all.map(({ id }, place) => [id, place]))
  const keyOf = new Map(all.map(({ id, orderKey }) => [id, orderKey]))
  for (const key of new Set(keyOf.values())) {
    if (key === undefined) continue
    const started = world.started.filter(
      (id) => keyOf.get(id) === key && !world.redelivered.has(id),
    )
    const inOrder = started.map((id) => places.get(id) ?? 0)
    expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b))
  }
}

const start = (world: World, claimed: readonly ClaimedDelivery[]): void => {
  for (const one of claimed) {
    if (one.webhook.id !== world.webhookId) continue
    world.claims.push(one)
    if (!world.started.includes(one.delivery.id)) world.started.push(one.delivery.id)
  }
}

const publish =
  (session: number, user: number, claims: boolean): Step =>
  async (world) => {
    const { scene, agent, now } = world
    const executionPrincipal = { type: 'end_user', endUserId: `u${user}` }
    const body = JSON.stringify({ data: { executionPrincipal } })
    const event = { sessionId: `s${session}`, body, createdAt: now }
    const claim = claims ? { until: now + LEASE_MS, except: new Set<string>() } : undefined
    start(world, await scene.publish(agent, event, claim))
  }

const claim =
  (limit: number): Step =>
  async (world) => {
    const { store, now } = world
    start(world, await store.claim({ ...CLAIM_ALL, limit, now, until: now + LEASE_MS }))
  }

const record =
  (pick: number, kind: AfterAttempt['kind']): Step =>
  async ({ store, claims, now }) => {
    const claimed = oneOf(claims, pick)
    if (!claimed) return
    const { delivery, lease } = claimed
    const outcome = kind === 'delivered' ? accepted() : refused()
    const attempt = { startedAt: now, durationMs: 1, outcome }
    const state = stateOf(kind, now)
    await store.recordAttempt({ deliveryId: delivery.id, token: lease.token, attempt, state })
  }

const end =
  (pick: number, reason: OperatorReason): Step =>
  async (world) => {
    const delivery = oneOf(await allOf(world), pick)
    if (delivery) await world.store.cancel(PROJECT_ID, delivery.id, world.now, undefined, reason)
  }

const redeliver =
  (pick: number): Step =>
  async (world) => {
    const { store, now } = world
    const delivery = oneOf(await allOf(world), pick)
    if (!delivery) return
    if (delivery.state.kind !== 'pending') world.redelivered.add(delivery.id)
    await store.redeliver({ projectId: PROJECT_ID, deliveryId: delivery.id }, { limit: 1 }, now)
  }

const recover: Step = ({ store, webhookId, now }) =>
  store.redeliver({ projectId: PROJECT_ID, webhookId, status: 'pending' }, PAGE, now)

const release =
  (pick: number): Step =>
  async ({ store, claims, now }) => {
    const claimed = oneOf(claims, pick)
    if (!claimed) return
    const { delivery, lease } = claimed
    await store.release([{ deliveryId: delivery.id, token: lease.token, isProbe: false }], now)
  }

const erase =
  (user: number): Step =>
  ({ store, now }) =>
    store.erasePrincipal({
      projectId: PROJECT_ID,
      endUserId: `u${user}`,
      countOnly: false,
      now,
      after: 0,
      limit: 1_000,
    })

const setOrdering =
  (ordering: 'none' | 'session'): Step =>
  ({ storage, webhookId, now }) =>
    storage.webhooks.update(PROJECT_ID, webhookId, { ordering, updatedAt: now })

const setDisabled =
  (isDisabled: boolean): Step =>
  ({ storage, webhookId, now }) =>
    storage.webhooks.update(PROJECT_ID, webhookId, {
      status: isDisabled ? { kind: 'disabled', reason: 'operator', at: now } : { kind: 'enabled' },
      updatedAt: now,
    })

const cancelStale =
  (keep: number, limit: number): Step =>
  async (world) => {
    await setDisabled(true)(world)
    const { store, now } = world
    await store.cancelStale({ now, dueBefore: now - 3 * LEASE_MS, keep, limit })
    await setDisabled(false)(world)
  }

const purge: Step = ({ store, now }) => store.purge({ finishedBefore: now, limit: 2 })

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
    act: act(...args),
    toString: () => `${name}(${args.join(', ')})`,
  }))

const pick = fc.nat(20)
const often = [
  step('publish', publish, fc.nat(1), fc.nat(1), fc.boolean()),
  step('claim', claim, fc.integer({ min: 1, max: 3 })),
  step('record', record, pick, fc.constantFrom('delivered', 'exhausted', 'pending')),
]
const anyStep = fc.oneof(
  ...often,
  ...often,
  ...often,
  step('end', end, pick, fc.constantFrom('operator', 'skipped')),
  step('redeliver', redeliver, pick),
  step('recover', () => recover),
  step('release', release, pick),
  step('erase', erase, fc.nat(1)),
  step('setOrdering', setOrdering, fc.constantFrom('none', 'session')),
  step('cancelStale', cancelStale, fc.nat(4), fc.integer({ min: 1, max: 3 })),
  step('purge', () => purge),
  step('jump', jump, fc.nat(2 * LEASE_MS)),
)

const oneOf = <T>(items: readonly T[], pick: number): T | undefined =>
  items[pick % Math.max(1, items.length)]

function stateOf(kind: AfterAttempt['kind'], now: Instant): AfterAttempt {
  if (kind === 'delivered') return { kind, deliveredAt: now }
  if (kind === 'exhausted') return { kind, exhaustedAt: now }
  return { kind, nextAttemptAt: now + LEASE_MS, step: 1 }
}
