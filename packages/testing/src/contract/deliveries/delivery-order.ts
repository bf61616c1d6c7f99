import { expect } from 'vitest'
import type { Agent } from '@org/agent-messaging-core'
import type { AfterAttempt, ClaimedDelivery } from '@org/agent-messaging-core/storage'
import { anEvent, PROJECT_ID } from '../../builders.js'
import { accepted, refused } from '../../fakes/fake-sender.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, SECOND, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const CLAIM = { until: NOW + LEASE_MS, except: new Set<string>() }
const FOREVER = NOW + 1e12
const PAGE = { limit: 100 }
const delivered = { kind: 'delivered', deliveredAt: NOW + 1 } as const
const exhausted = { kind: 'exhausted', exhaustedAt: NOW + 1 } as const
const retried = { kind: 'pending', nextAttemptAt: NOW + MINUTE, step: 1 } as const

/** Ids of the deliveries of an ordered webhook, one for each event, oldest first. */
async function chain(
  storage: UnwrappedStorage,
  scene: Scene,
  sessions: readonly (string | undefined)[] = ['s', 's', 's'],
): Promise<{ ids: string[]; agent: Agent; webhookId: string }> {
  const { id: webhookId } = await scene.webhook({ ordering: 'session' })
  const agent = await scene.agent()
  for (const sessionId of sessions)
    await scene.publish(agent, sessionId === undefined ? {} : { sessionId })
  return { ids: await allIds(storage), agent, webhookId }
}

async function allIds({ deliveries }: UnwrappedStorage): Promise<string[]> {
  const { data } = await deliveries.list({ projectId: PROJECT_ID }, PAGE)
  return data.map(({ id }) => id).reverse()
}

/** The states of these deliveries, in short: `waiting` names the place of the blocker. */
async function statesOf(
  { deliveries }: UnwrappedStorage,
  ids: readonly string[],
): Promise<string[]> {
  const { data } = await deliveries.list({ projectId: PROJECT_ID }, PAGE)
  const states = new Map(data.map(({ id, state }) => [id, state]))
  return ids.map((id) => {
    const state = states.get(id)
    if (state?.kind === 'waiting') return `waits for ${ids.indexOf(state.blockedBy)}`
    return state?.kind === 'cancelled' ? state.reason : (state?.kind ?? 'gone')
  })
}

const claim = (
  { deliveries }: UnwrappedStorage,
  now = NOW,
  until = now + LEASE_MS,
): Promise<ClaimedDelivery[]> => deliveries.claim({ ...CLAIM_ALL, now, until })

async function claimOne(storage: UnwrappedStorage, now = NOW): Promise<ClaimedDelivery> {
  const [claimed, ...others] = await claim(storage, now)
  expect(others).toEqual([])
  if (!claimed) throw new Error(`nothing is due at ${now}`)
  return claimed
}

const record = (
  { deliveries }: UnwrappedStorage,
  { delivery, lease }: ClaimedDelivery,
  state: AfterAttempt,
) =>
  deliveries.recordAttempt({
    deliveryId: delivery.id,
    token: lease.token,
    attempt: {
      startedAt: NOW,
      durationMs: 1,
      outcome: state.kind === 'delivered' ? accepted() : refused(),
    },
    state,
  })

const ref = (deliveryId: string) => ({ projectId: PROJECT_ID, deliveryId })

export function deliveryOrderSuite(it: StorageTest): void {
  it('lets the deliveries of a session wait for the first one, and no claim takes them', async ({
    storage,
    scene,
  }) => {
    const { ids } = await chain(storage, scene)
    expect(await statesOf(storage, ids)).toEqual(['pending', 'waits for 0', 'waits for 0'])
    const detail = await storage.deliveries.get(PROJECT_ID, ids[2] ?? '')
    expect(detail?.delivery.state).toEqual({ kind: 'waiting', blockedBy: ids[0] })
    expect((await claimOne(storage, FOREVER)).delivery.id).toBe(ids[0])
    expect(await storage.deliveries.backlog(FOREVER)).toMatchObject({ open: 3 })
    const { data } = await storage.deliveries.list(
      { projectId: PROJECT_ID, status: 'pending' },
      PAGE,
    )
    expect(data.map(({ id }) => id)).toEqual([...ids].reverse())
  })

  it('claims a new delivery at its birth only if no other one of its session is open', async ({
    storage,
    scene,
  }) => {
    await scene.webhook({ ordering: 'session' })
    const agent = await scene.agent()
    const [first] = await scene.publish(agent, { sessionId: 's' }, CLAIM)
    expect(first?.delivery).toEqual(
      (await storage.deliveries.get(PROJECT_ID, first?.delivery.id ?? ''))?.delivery,
    )
    expect(await scene.publish(agent, { sessionId: 's' }, CLAIM)).toEqual([])
    expect(await scene.publish(agent, { sessionId: 't' }, CLAIM)).toHaveLength(1)
    expect(await statesOf(storage, await allIds(storage))).toEqual([
      'sending',
      'waits for 0',
      'sending',
    ])
  })

  it('orders the events that answers cause', async ({ storage, scene }) => {
    await scene.webhook({ ordering: 'session' })
    const ordinary = await scene.webhook()
    const agent = await scene.agent()
    const born: ClaimedDelivery[][] = []
    for (const sessionId of ['s', 's "1", {2} \\', 's', 's "1", {2} \\']) {
      const run = await scene.run(agent, { sessionId })
      const event = anEvent(agent, { sessionId, createdAt: NOW })
      const answered = await scene.answer(run, NOW, scene.outgoing(event, CLAIM))
      born.push(answered.kind === 'recorded' ? [...answered.deliveries] : [])
    }
    expect(born.map((some) => some.length)).toEqual([2, 2, 1, 1])
    expect(born[3]?.[0]?.delivery.webhookId).toBe(ordinary.id)
    const { data } = await storage.deliveries.list({ projectId: PROJECT_ID }, PAGE)
    const waiting = data.filter(({ state }) => state.kind === 'waiting')
    expect(waiting.map(({ orderKey }) => orderKey?.split(' ').slice(2).join(' '))).toEqual([
      's "1", {2} \\',
      's',
    ])
  })

  it('orders the events of one commit', async ({ storage, scene }) => {
    const { id: webhookId } = await scene.webhook({ ordering: 'session' })
    await scene.webhook()
    const agent = await scene.agent()
    const pair = (sessionId: string) => ({
      ...scene.outgoing(anEvent(agent), CLAIM),
      events: [1, 2].map(() => anEvent(agent, { sessionId, createdAt: NOW })),
    })
    const [one, two] = [
      await scene.run(agent, { sessionId: 'one' }),
      await scene.run(agent, { sessionId: 'two' }),
    ]
    const settled = await Promise.all([
      scene.answer(one, NOW, pair('one')),
      scene.answer(two, NOW, pair('two')),
    ])
    const cancelled = await scene.cancel(
      await scene.send(agent, { sessionId: 'three' }),
      pair('three'),
    )
    const born = [...settled, cancelled].map((done) =>
      done && 'deliveries' in done ? done.deliveries.length : 0,
    )
    expect(born).toEqual([3, 3, 3])
    const { data } = await storage.deliveries.list({ projectId: PROJECT_ID, webhookId }, PAGE)
    const ids = data.map(({ id }) => id).reverse()
    expect(await statesOf(storage, ids)).toEqual([
      'sending',
      'waits for 0',
      'sending',
      'waits for 2',
      'sending',
      'waits for 4',
    ])
  })

  it('orders neither other sessions, agents and webhooks, nor events without a session', async ({
    storage,
    scene,
  }) => {
    await scene.webhook({ ordering: 'session' })
    await scene.webhook({ ordering: 'session' })
    await scene.webhook()
    const agents = [await scene.agent(), await scene.agent()]
    for (const agent of agents)
      for (const sessionId of ['s', 't']) await scene.publish(agent, { sessionId })
    for (const agent of agents) await scene.publish(agent)
    expect(await claim(storage)).toHaveLength(18)
  })

  it.for([delivered, exhausted])(
    'makes the next delivery due in the commit that ends one: $kind',
    async (state, { storage, scene }) => {
      const { ids } = await chain(storage, scene)
      const first = await claimOne(storage)
      expect(await record(storage, first, state)).toEqual({ kind: 'recorded', nextIsDue: true })
      expect(await statesOf(storage, ids)).toEqual([state.kind, 'pending', 'waits for 1'])
      const second = await claimOne(storage, NOW + 1)
      expect(second.delivery).toMatchObject({ id: ids[1], attemptCount: 0 })
      await record(storage, second, state)
      const third = await claimOne(storage, NOW + 1)
      expect(await record(storage, third, state)).toEqual({ kind: 'recorded' })
      expect(await claim(storage, FOREVER)).toEqual([])
    },
  )

  it('lets the others wait during the retries of the first', async ({ storage, scene }) => {
    const { ids } = await chain(storage, scene)
    expect(await record(storage, await claimOne(storage), retried)).toEqual({ kind: 'recorded' })
    expect(await statesOf(storage, ids)).toEqual(['pending', 'waits for 0', 'waits for 0'])
    await storage.deliveries.release(
      [{ ...held(await claimOne(storage, NOW + MINUTE)), isProbe: false }],
      NOW + MINUTE,
    )
    expect((await claimOne(storage, FOREVER)).delivery.id).toBe(ids[0])
  })

  it('goes on when a late attempt shows that the receiver has the first', async ({
    storage,
    scene,
  }) => {
    const { ids } = await chain(storage, scene)
    const late = await claimOne(storage)
    await record(storage, await claimOne(storage, NOW + LEASE_MS), retried)
    expect(await record(storage, late, delivered)).toEqual({ kind: 'recorded', nextIsDue: true })
    expect(await statesOf(storage, ids)).toEqual(['delivered', 'pending', 'waits for 1'])
  })

  it.for(['operator', 'skipped'] as const)(
    'goes on after the first is cancelled with the reason %s, also during its attempt',
    async (reason, { storage, scene }) => {
      const { ids } = await chain(storage, scene)
      const cancel = () =>
        storage.deliveries.cancel(PROJECT_ID, ids[0] ?? '', NOW, undefined, reason)
      const first = await claimOne(storage)
      const ended = await cancel()
      expect(ended).toMatchObject({ state: { kind: 'cancelled', cancelledAt: NOW, reason } })
      expect(await statesOf(storage, ids)).toEqual([reason, 'pending', 'waits for 1'])
      expect(await record(storage, first, delivered)).toEqual({ kind: 'lease_lost' })
      expect(await cancel()).toBe('already_final')
      expect((await claimOne(storage)).delivery.id).toBe(ids[1])
    },
  )

  it('passes over waiting deliveries that were ended', async ({ storage, scene }) => {
    const { ids } = await chain(storage, scene)
    await storage.deliveries.cancel(PROJECT_ID, ids[1] ?? '', NOW, undefined, 'skipped')
    expect(await statesOf(storage, ids)).toEqual(['pending', 'skipped', 'waits for 0'])
    await record(storage, await claimOne(storage), delivered)
    expect(await statesOf(storage, ids)).toEqual(['delivered', 'skipped', 'pending'])
  })

  it('goes on after the first is erased with its end user', async ({ storage, scene }) => {
    await scene.webhook({ ordering: 'session' })
    const agent = await scene.agent()
    for (const endUserId of ['u', 'v', 'u', 'v']) {
      const executionPrincipal = { type: 'end_user', endUserId }
      const body = JSON.stringify({ data: { executionPrincipal } })
      await scene.publish(agent, { sessionId: 's', body })
    }
    const ids = await allIds(storage)
    await storage.deliveries.erasePrincipal({
      projectId: PROJECT_ID,
      endUserId: 'u',
      countOnly: false,
      now: NOW,
      after: 0,
      limit: 100,
    })
    expect(await statesOf(storage, ids)).toEqual(['gone', 'pending', 'gone', 'waits for 1'])
  })

  it('redelivers a final delivery out of order', async ({ storage, scene }) => {
    const { ids, agent } = await chain(storage, scene)
    await record(storage, await claimOne(storage), exhausted)
    await storage.deliveries.redeliver(ref(ids[0] ?? ''), { limit: 1 }, NOW + SECOND)
    expect(await statesOf(storage, ids)).toEqual(['pending', 'pending', 'waits for 1'])
    const again = await claim(storage, NOW + SECOND)
    expect(again.map(({ delivery }) => delivery.id).sort()).toEqual(ids.slice(0, 2).sort())
    for (const one of again) await record(storage, one, delivered)
    await scene.publish(agent, { sessionId: 's' })
    expect(await statesOf(storage, ids)).toEqual(['delivered', 'delivered', 'pending'])
  })

  it('redelivers a waiting delivery out of order only if it is named', async ({
    storage,
    scene,
  }) => {
    const { ids } = await chain(storage, scene)
    const pending = { projectId: PROJECT_ID, status: 'pending' } as const
    expect(await storage.deliveries.redeliver(pending, PAGE, NOW)).toMatchObject({ count: 0 })
    expect(await statesOf(storage, ids)).toEqual(['pending', 'waits for 0', 'waits for 0'])
    await storage.deliveries.redeliver(ref(ids[1] ?? ''), { limit: 1 }, NOW)
    expect(await statesOf(storage, ids)).toEqual(['pending', 'pending', 'waits for 0'])
    const detail = await storage.deliveries.get(PROJECT_ID, ids[1] ?? '')
    expect(detail?.delivery).not.toHaveProperty('orderKey')
    for (const one of await claim(storage)) await record(storage, one, delivered)
    expect(await statesOf(storage, ids)).toEqual(['delivered', 'delivered', 'pending'])
  })

  it('keeps its order during an extra attempt of the first', async ({ storage, scene }) => {
    const { ids } = await chain(storage, scene)
    await record(storage, await claimOne(storage), retried)
    await storage.deliveries.redeliver(ref(ids[0] ?? ''), { limit: 1 }, NOW + SECOND)
    const extra = await claimOne(storage, NOW + SECOND)
    expect(await statesOf(storage, ids)).toEqual(['sending', 'waits for 0', 'waits for 0'])
    await record(storage, extra, delivered)
    expect(await statesOf(storage, ids)).toEqual(['delivered', 'pending', 'waits for 1'])
  })

  it('applies a change of the ordering to the next event', async ({ storage, scene }) => {
    const { id } = await scene.webhook()
    const agent = await scene.agent()
    const change = (ordering: 'none' | 'session') =>
      storage.webhooks.update(PROJECT_ID, id, { ordering, updatedAt: NOW })
    const publish = () => scene.publish(agent, { sessionId: 's' })
    await publish()
    expect(await change('session')).toMatchObject({ ordering: 'session' })
    await publish()
    await publish()
    await change('none')
    await publish()
    const ids = await allIds(storage)
    expect(await statesOf(storage, ids)).toEqual(['pending', 'pending', 'waits for 1', 'pending'])
    for (const one of await claim(storage)) await record(storage, one, delivered)
    expect((await claimOne(storage, NOW + 1)).delivery.id).toBe(ids[2])
  })

  it('keeps its order after a jump of the clock', async ({ storage, scene }) => {
    const { ids } = await chain(storage, scene)
    const jumps = [MINUTE, -MINUTE].map((byMs, lastMove) => ({
      from: NOW + 1,
      to: NOW + 1 + byMs,
      lastMove,
    }))
    for (const jump of jumps) {
      expect(await storage.moveTimes(jump)).toMatchObject({ hasMoved: true })
      expect(await statesOf(storage, ids)).toEqual(['pending', 'waits for 0', 'waits for 0'])
    }
    expect((await claimOne(storage, FOREVER)).delivery.id).toBe(ids[0])
  })

  it('ends all deliveries of a deleted webhook, in bounded steps', async ({ storage, scene }) => {
    const { ids, webhookId } = await chain(storage, scene)
    await storage.webhooks.delete(PROJECT_ID, webhookId)
    const steps = []
    for (let step = 0; step < 3; step++)
      steps.push(await storage.deliveries.cancelOrphans({ now: NOW, limit: 2 }))
    expect(steps).toEqual([2, 1, 0])
    expect(new Set(await statesOf(storage, ids))).toEqual(new Set(['webhook_deleted']))
  })

  it('counts waiting deliveries of a disabled webhook as due since their creation', async ({
    storage,
    scene,
  }) => {
    const status = { kind: 'disabled', reason: 'operator', at: NOW } as const
    await scene.webhook({ status, ordering: 'session' })
    const agent = await scene.agent()
    for (const at of [0, 1, 2, 3, 4])
      await scene.publish(agent, { sessionId: 's', createdAt: NOW + at })
    const ids = await allIds(storage)
    const query = { now: NOW + MINUTE, limit: 100 }
    const { deliveries } = storage
    expect(await deliveries.cancelStale({ ...query, dueBefore: NOW + 2, keep: 100 })).toBe(2)
    const [gone, first] = ['webhook_disabled', 'pending']
    expect(await statesOf(storage, ids)).toEqual([gone, gone, first, 'waits for 2', 'waits for 2'])
    expect(await deliveries.cancelStale({ ...query, dueBefore: 0, keep: 1 })).toBe(2)
    expect(await statesOf(storage, ids)).toEqual([gone, gone, gone, gone, first])
  })

  it('loses no delivery between the end of one and the birth of the next, over two processes', async ({
    storage,
    second,
    scene,
  }) => {
    await scene.webhook({ ordering: 'session' })
    const agent = await scene.agent()
    const ROUNDS = 8
    const sessions = Array.from({ length: 6 }, (_, index) => `s${index}`)
    const attempted: string[] = []
    const seen = async (claimed: ClaimedDelivery, store: UnwrappedStorage): Promise<void> => {
      attempted.push(claimed.delivery.id)
      await record(store, claimed, attempted.length % 5 === 0 ? exhausted : delivered)
    }
    for (let round = 0; round < ROUNDS; round++) {
      const runs = await Promise.all(sessions.map((sessionId) => scene.run(agent, { sessionId })))
      const due = claim(round % 2 ? storage : second, NOW + 1)
      const answers = runs.map((run) => {
        const event = anEvent(agent, { sessionId: run.message.sessionId })
        return scene.answer(run, NOW, scene.outgoing(event, CLAIM))
      })
      const records = due.then((some) => Promise.all(some.map((one) => seen(one, second))))
      for (const answered of await Promise.all(answers))
        if (answered.kind === 'recorded')
          await Promise.all(answered.deliveries.map((one) => seen(one, storage)))
      await records
    }
    for (let left = ROUNDS * sessions.length; left > 0; left--)
      await Promise.all((await claim(storage, NOW + 1)).map((one) => seen(one, second)))
    const { data } = await storage.deliveries.list({ projectId: PROJECT_ID }, PAGE)
    expect(data.filter(({ state }) => !['delivered', 'exhausted'].includes(state.kind))).toEqual([])
    for (const key of new Set(data.map(({ orderKey }) => orderKey))) {
      const ordered = data.filter(({ orderKey }) => orderKey === key).map(({ id }) => id)
      expect(attempted.filter((id) => ordered.includes(id))).toEqual(ordered.reverse())
    }
  })
}

const held = ({ delivery, lease }: ClaimedDelivery) => ({
  deliveryId: delivery.id,
  token: lease.token,
})
