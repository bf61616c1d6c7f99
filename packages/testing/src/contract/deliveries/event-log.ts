import { expect } from 'vitest'
import { freezeEvent, type WebhookEvent, markOf } from '@org/agent-messaging-core/storage'
import { anEvent, PROJECT_ID } from '../../builders.js'
import { accepted } from '../../fakes/fake-sender.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const LATER = NOW + 1_000 * MINUTE
/** For a database far away. A store in memory takes a fraction of a second. */
const TIMEOUT_MS = 240_000

/** Reads a page of the log, which must not have expired. */
async function pageOf(storage: UnwrappedStorage, after?: number, limit = 100) {
  const page = await storage.events.list({
    projectId: PROJECT_ID,
    limit,
    ...(after !== undefined && { after }),
  })
  if (page === 'expired') throw new Error(`the position ${after} has expired`)
  return page
}

const idsAfter = async (storage: UnwrappedStorage, after?: number): Promise<string[]> =>
  (await pageOf(storage, after)).events.map(({ id }) => id)

const isExpired = async (storage: UnwrappedStorage, after: number): Promise<boolean> =>
  (await storage.events.list({ projectId: PROJECT_ID, after, limit: 1 })) === 'expired'

const eventFor = (endUserId: string, agentId: string): Partial<WebhookEvent> =>
  freezeEvent(
    {
      event: 'agent.error',
      data: {
        agentId,
        error: { code: 'RUNTIME_ERROR', message: 'no' },
        executionPrincipal: { type: 'end_user', endUserId },
      },
    },
    `event for ${endUserId}`,
    PROJECT_ID,
    NOW,
  )

export function eventLogSuite(it: StorageTest): void {
  readingSuite(it)
  followingSuite(it)
  retentionSuite(it)
  erasureSuite(it)
}

function readingSuite(it: StorageTest): void {
  it('contains every event, with and without a delivery, in the order of the commits', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    const events = [anEvent(agent), anEvent(agent), anEvent(agent), anEvent(agent)]
    await scene.publish(agent, events[0])
    await scene.answer(await scene.run(agent), NOW, scene.outgoing(events[1] as WebhookEvent))
    const webhook = await scene.webhook()
    await scene.publish(agent, events[2])
    await storage.deliveries.publishTo(webhook.id, events[3] as WebhookEvent, agent.id)
    const page = await pageOf(second)
    expect(page.events).toEqual(
      events.map(({ id, name, body }) => ({ position: expect.any(Number), id, name, body })),
    )
    expect(page.next).toBe(page.events.at(-1)?.position)
    expect(await idsAfter(storage)).toEqual(events.map(({ id }) => id))
  })

  it('continues after a position, with at most as many events as asked for', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const events = [anEvent(agent), anEvent(agent), anEvent(agent)]
    for (const event of events) await scene.publish(agent, event)
    const first = await pageOf(storage, undefined, 2)
    expect(first.events.map(({ id }) => id)).toEqual([events[0]?.id, events[1]?.id])
    const rest = await pageOf(storage, first.next, 2)
    expect(rest.events.map(({ id }) => id)).toEqual([events[2]?.id])
    expect(await pageOf(storage, rest.next)).toEqual({ events: [], next: rest.next })
  })

  it('gives an empty project a position from which the next event is found', async ({
    storage,
    scene,
  }) => {
    const { events, next } = await pageOf(storage)
    expect(events).toEqual([])
    const agent = await scene.agent()
    const event = anEvent(agent)
    await scene.publish(agent, event)
    expect(await idsAfter(storage, next)).toEqual([event.id])
  })

  it('G6: shows no event of another project', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const other = await scene.agent({ projectId: OTHER_PROJECT_ID })
    const event = anEvent(agent)
    await scene.publish(agent, event)
    await scene.publish(other)
    expect(await idsAfter(storage)).toEqual([event.id])
    const { next } = await pageOf(storage)
    expect(await storage.events.findNew([{ projectId: PROJECT_ID, after: next }])).toEqual([])
  })

  it('finds the projects with new events', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const { next } = await pageOf(storage)
    const tails = [PROJECT_ID, OTHER_PROJECT_ID].map((projectId) => ({ projectId, after: next }))
    expect(await storage.events.findNew(tails)).toEqual([])
    await scene.publish(agent)
    expect(await storage.events.findNew(tails)).toEqual([PROJECT_ID])
    const after = (await pageOf(storage)).next
    expect(await storage.events.findNew([{ projectId: PROJECT_ID, after }])).toEqual([])
    expect(await storage.events.findNew([])).toEqual([])
  })

  it('refuses a position that was never given out', async ({ storage, scene }) => {
    await scene.publish(await scene.agent())
    const { next } = await pageOf(storage)
    expect(await isExpired(storage, next + 1)).toBe(true)
  })

  it('refuses a position that belongs to another event now, as after a return to a backup', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    for (let n = 0; n < 2; n++) await scene.publish(agent)
    const [first, second] = (await pageOf(storage)).events
    const at = (after = 0, mark = markOf(first?.id ?? '')) =>
      storage.events.list({ projectId: PROJECT_ID, after, mark, limit: 1 })
    expect(await at(first?.position)).toMatchObject({ events: [second] })
    expect(await at(second?.position)).toBe('expired')
    expect(await at(second?.position, markOf(second?.id ?? ''))).toMatchObject({ events: [] })
  })

  it('leaves out the event of a change that is not made', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await scene.answer(run)
    const late = await scene.answer(run, NOW, scene.outgoing(anEvent(agent)))
    expect(late).toEqual({ kind: 'lease_lost' })
    expect(await idsAfter(storage)).toEqual([])
  })
}

function followingSuite(it: StorageTest): void {
  it(
    'shows each event once and in one order to readers in all processes, while others write',
    { timeout: TIMEOUT_MS },
    async ({ storage, second, scene }) => {
      const agent = await scene.agent()
      const stores = [storage, second]
      const committed: string[] = []
      let isWriting = true

      async function write(store: UnwrappedStorage): Promise<void> {
        for (let i = 0; i < 40; i++) {
          const event = anEvent(agent)
          const to = { kind: 'running', startedAt: NOW } as const
          const change = { agentId: agent.id, from: 'running', to } as const
          await store.agents.changeState({ ...change, outgoing: scene.outgoing(event) })
          committed.push(event.id)
        }
      }

      async function follow(store: UnwrappedStorage, limit: number): Promise<string[]> {
        const seen: string[] = []
        for (let after: number | undefined; ;) {
          const wasWriting = isWriting
          const { events, next }: Awaited<ReturnType<typeof pageOf>> = await pageOf(
            store,
            after,
            limit,
          )
          // Reads of a store can end within one turn of the event loop, so writers need this one.
          await new Promise<void>((resolve) => void setTimeout(resolve))
          seen.push(...events.map(({ id }) => id))
          after = next
          if (!wasWriting && events.length === 0) return seen
        }
      }

      const readers = [follow(storage, 3), follow(second, 50), follow(second, 1)]
      await Promise.all([...stores, ...stores].map(write))
      isWriting = false
      const [first = [], ...others] = await Promise.all(readers)
      expect(first.toSorted()).toEqual(committed.toSorted())
      for (const other of others) expect(other).toEqual(first)
      expect(await idsAfter(storage)).toEqual(first.slice(0, 100))
    },
  )

  it('places an event after all events that were read before its commit', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    const ids: string[] = []
    let after: number | undefined
    for (let i = 0; i < 5; i++) {
      const event = anEvent(agent)
      await scene.publish(agent, event)
      ids.push(event.id)
      const page = await pageOf(i % 2 ? storage : second, after)
      expect(page.events.map(({ id }) => id)).toEqual([event.id])
      after = page.next
    }
    expect(await idsAfter(storage)).toEqual(ids)
  })
}

function retentionSuite(it: StorageTest): void {
  it('purges old events without deliveries, the oldest first, a bounded number at a time', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const events = [3, 1, 2, 9].map((at) => anEvent(agent, { createdAt: NOW + at }))
    for (const event of events) await scene.publish(agent, event)
    const { next } = await pageOf(storage)
    const purge = { createdBefore: NOW + 9, limit: 2 }
    expect(await storage.events.purge(purge)).toBe(2)
    expect(await storage.events.purge(purge)).toBe(1)
    expect(await storage.events.purge(purge)).toBe(0)
    expect(await idsAfter(storage)).toEqual([events[3]?.id])
    expect(await pageOf(storage, next)).toEqual({ events: [], next })
  })

  it('expires the positions before a purged event, and no others', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const start = (await pageOf(storage)).next
    await scene.publish(agent, { createdAt: NOW })
    await scene.publish(agent, { createdAt: NOW + MINUTE })
    const positions = (await pageOf(storage)).events.map(({ position }) => position)
    expect(await storage.events.purge({ createdBefore: NOW, limit: 9 })).toBe(0)
    expect(await isExpired(storage, start)).toBe(false)
    expect(await storage.events.purge({ createdBefore: NOW + 1, limit: 9 })).toBe(1)
    expect(await isExpired(storage, start)).toBe(true)
    for (const position of positions) expect(await isExpired(storage, position)).toBe(false)
  })

  it('expires the position of a reader that missed events before its first read of them', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const start = (await pageOf(storage)).next
    await scene.publish(agent, { createdAt: NOW })
    const kept = anEvent(agent, { createdAt: NOW + MINUTE })
    await scene.publish(agent, kept)
    expect(await storage.events.purge({ createdBefore: NOW + 1, limit: 9 })).toBe(1)
    expect(await isExpired(storage, start)).toBe(true)
    expect(await idsAfter(storage)).toEqual([kept.id])
  })

  it('uses no position twice after the newest events were purged', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await scene.publish(agent)
    const { next } = await pageOf(storage)
    expect(await storage.events.purge({ createdBefore: LATER, limit: 9 })).toBe(1)
    expect(await idsAfter(storage, next)).toEqual([])
    const event = anEvent(agent)
    await scene.publish(agent, event)
    expect(await idsAfter(storage, next)).toEqual([event.id])
  })

  it('keeps an old event for its deliveries', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const event = anEvent(agent)
    await scene.publish(agent, event)
    expect(await storage.events.purge({ createdBefore: LATER, limit: 9 })).toBe(0)
    expect(await idsAfter(storage)).toEqual([event.id])
  })

  it('keeps a young event when its last delivery is purged, and purges the event later', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const start = (await pageOf(storage)).next
    const event = anEvent(agent)
    await scene.publish(agent, event)
    await deliverAll(storage)
    const purge = { finishedBefore: LATER, limit: 9 }
    expect(await storage.deliveries.purge({ ...purge, eventsBefore: NOW })).toBe(1)
    expect(await idsAfter(storage, start)).toEqual([event.id])
    expect(await storage.events.purge({ createdBefore: NOW + 1, limit: 9 })).toBe(1)
    expect(await isExpired(storage, start)).toBe(true)
  })

  it('purges an old event with its last delivery', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const start = (await pageOf(storage)).next
    await scene.publish(agent)
    await deliverAll(storage)
    const purge = { finishedBefore: LATER, limit: 9 }
    expect(await storage.deliveries.purge({ ...purge, eventsBefore: NOW + 1 })).toBe(1)
    expect(await isExpired(storage, start)).toBe(true)
    expect(await idsAfter(storage)).toEqual([])
    expect(await storage.events.purge({ createdBefore: LATER, limit: 9 })).toBe(0)
  })
}

async function deliverAll({ deliveries }: UnwrappedStorage): Promise<void> {
  const until = NOW + LEASE_MS
  for (const { delivery, lease } of await deliveries.claim({ ...CLAIM_ALL, now: NOW, until }))
    await deliveries.recordAttempt({
      deliveryId: delivery.id,
      token: lease.token,
      attempt: { startedAt: NOW, durationMs: 1, outcome: accepted() },
      state: { kind: 'delivered', deliveredAt: NOW },
    })
}

function erasureSuite(it: StorageTest): void {
  const erasure = {
    projectId: PROJECT_ID,
    endUserId: 'u',
    countOnly: false,
    after: 0,
    limit: 100,
    now: NOW,
  }

  it("erases an end user's events without deliveries, and expires no position", async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const start = (await pageOf(storage)).next
    await scene.publish(agent, eventFor('u', agent.id))
    await scene.publish(agent, eventFor('v', agent.id))
    const { next } = await pageOf(storage)
    expect(await storage.events.erasePrincipal({ ...erasure, countOnly: true })).toEqual({
      events: 1,
    })
    expect(await idsAfter(storage)).toHaveLength(2)
    expect(
      await storage.events.erasePrincipal({ ...erasure, projectId: OTHER_PROJECT_ID }),
    ).toEqual({ events: 0 })
    expect(await storage.events.erasePrincipal(erasure)).toEqual({ events: 1 })
    expect(await storage.events.erasePrincipal(erasure)).toEqual({ events: 0 })
    expect(await idsAfter(storage, start)).toEqual(['event for v'])
    expect(await pageOf(storage, next)).toEqual({ events: [], next })
  })

  it('erases events that were never read', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await scene.publish(agent, eventFor('u', agent.id))
    expect(await storage.events.erasePrincipal(erasure)).toEqual({ events: 1 })
    expect(await idsAfter(storage)).toEqual([])
  })

  it('erases in steps', async ({ storage, scene }) => {
    const agent = await scene.agent()
    for (let i = 0; i < 3; i++)
      await scene.publish(agent, { ...eventFor('u', agent.id), id: `event ${i}` })
    let erased = 0
    for (let after: number | undefined = 0; after !== undefined;) {
      const found: { events: number; next?: number | undefined } =
        await storage.events.erasePrincipal({
          ...erasure,
          after,
          limit: 1,
        })
      erased += found.events
      after = found.next
    }
    expect(erased).toBe(3)
    expect(await idsAfter(storage)).toEqual([])
  })

  it("erases an end user's events with their deliveries from the log", async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook()
    await scene.publish(agent, eventFor('u', agent.id))
    await scene.publish(agent, eventFor('v', agent.id))
    const start = (await pageOf(storage)).events[0]?.position ?? 0
    expect(await storage.events.erasePrincipal(erasure)).toEqual({ events: 0 })
    expect(await storage.deliveries.erasePrincipal(erasure)).toMatchObject({ deliveries: 1 })
    expect(await idsAfter(storage)).toEqual(['event for v'])
    expect(await isExpired(storage, start - 1)).toBe(false)
  })
}
