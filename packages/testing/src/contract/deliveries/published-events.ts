import { expect } from 'vitest'
import type { JsonObject } from '@org/agent-messaging-core'
import {
  publishedEvent,
  type Publication,
  type PublishRequest,
  type RecoveryTask,
} from '@org/agent-messaging-core/storage'
import { aRecovery, PROJECT_ID } from '../../builders.js'
import { fakeIds } from '../../fakes/fake-ids.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const ids = fakeIds()
const DAY = 24 * 60 * MINUTE
const LATER = NOW + 100 * DAY

type Given = {
  readonly type?: string
  readonly id?: string
  readonly data?: JsonObject
  readonly fingerprint?: string
  readonly endUserId?: string
  readonly agentId?: string
  readonly sessionId?: string
  readonly projectId?: string
}

const eventOf = ({ type = 'order.paid', data = {}, fingerprint, ...given }: Given) => {
  const { id = ids.next(), projectId = PROJECT_ID, ...fields } = given
  return publishedEvent({ type, data, ...fields }, { id, projectId, now: NOW, fingerprint })
}

const publication = (
  events: readonly Given[],
  more: Partial<Publication> & { readonly request?: PublishRequest } = {},
): Publication => ({
  projectId: events[0]?.projectId ?? PROJECT_ID,
  outgoing: { events: events.map(eventOf), nextDeliveryId: ids.next },
  ...more,
})

const logOf = async ({ events }: UnwrappedStorage, projectId = PROJECT_ID) => {
  const page = await events.list({ projectId, limit: 1_000 })
  return page === 'expired' ? [] : page.events.map(({ id }) => id)
}

const deliveriesOf = async ({ deliveries }: UnwrappedStorage, projectId = PROJECT_ID) =>
  (await deliveries.list({ projectId }, { limit: 1_000 })).data

export function publishedEventsSuite(it: StorageTest): void {
  committingSuite(it)
  listSuite(it)
  idempotencySuite(it)
  limitsSuite(it)
  replaySuite(it)
  orderSuite(it)
  removalSuite(it)
}

function committingSuite(it: StorageTest): void {
  it('G3: commits an event with a delivery for each webhook that subscribes to its type', async ({
    storage,
    scene,
  }) => {
    const paid = await scene.webhook({ events: ['order.paid'] })
    const group = await scene.webhook({ events: ['order.*', 'order.paid'] })
    const all = await scene.webhook({ events: ['*'] })
    await scene.webhook({ events: ['order.item.*', 'message.responded'] })
    const asked = publication([{ id: 'o-1', data: { orderId: '1' } }])
    const published = await storage.events.publish(asked)
    expect(published).toEqual({ kind: 'published', events: 1, deliveries: [], skipped: [] })
    const found = await deliveriesOf(storage)
    expect(found.map(({ webhookId }) => webhookId).sort()).toEqual(
      [paid.id, group.id, all.id].sort(),
    )
    expect(found[0]).toMatchObject({ eventId: 'o-1', event: 'order.paid', createdAt: NOW })
    const body = `{"event":"order.paid","id":"o-1","createdAt":"${new Date(NOW).toISOString()}","data":{"orderId":"1"}}`
    expect((await storage.deliveries.get(PROJECT_ID, found[0]?.id ?? ''))?.body).toBe(body)
    expect(await storage.events.get(PROJECT_ID, 'o-1')).toEqual({
      id: 'o-1',
      name: 'order.paid',
      body,
      createdAt: NOW,
    })
  })

  it('puts an event without a receiver into the log', async ({ storage }) => {
    await storage.events.publish(publication([{ id: 'alone' }]))
    expect(await logOf(storage)).toEqual(['alone'])
    expect(await storage.events.get(OTHER_PROJECT_ID, 'alone')).toBeUndefined()
  })

  it('deliveries are born claimed if the process has room', async ({ storage, scene }) => {
    await scene.webhook({ events: ['order.*'] })
    const claim = { until: NOW + LEASE_MS, timeoutMs: 1_000, except: new Set<string>() }
    const { outgoing } = publication([{}])
    const published = await storage.events.publish(
      publication([], { outgoing: { ...outgoing, claim }, projectId: PROJECT_ID }),
    )
    expect(published).toMatchObject({ kind: 'published', deliveries: [{ lease: { token: 1 } }] })
  })

  it('a batch keeps its order, in one commit', async ({ storage }) => {
    const given = Array.from({ length: 100 }, (_, at) => ({ id: `e-${at}` }))
    await storage.events.publish(publication(given))
    expect(await logOf(storage)).toEqual(given.map(({ id }) => id))
  })

  it('refuses a batch that makes too many deliveries, and says how many events fit', async ({
    storage,
    scene,
  }) => {
    for (let n = 0; n < 30; n++) await scene.webhook({ events: ['*'] })
    const given = Array.from({ length: 100 }, () => ({}))
    const refused = await storage.events.publish(publication(given))
    expect(refused).toEqual({ kind: 'too_many_deliveries', fits: 66 })
    expect(await logOf(storage)).toEqual([])
    const fitting = publication(given.slice(0, 66))
    expect(await storage.events.publish(fitting)).toMatchObject({ kind: 'published', events: 66 })
    // A repetition makes no deliveries, however many webhooks there are now.
    for (let n = 0; n < 10; n++) await scene.webhook({ events: ['*'] })
    expect(await storage.events.publish(fitting)).toEqual({ kind: 'replayed' })
  })

  it('refuses a key that was revoked in the meantime', async ({ storage, scene }) => {
    await scene.webhook()
    const known = publication([{}], { apiKeyId: 'unknown' })
    const { kind } = await storage.events.publish(known)
    expect(kind).toBe('key_revoked')
    expect(await logOf(storage)).toEqual([])
  })
}

function listSuite(it: StorageTest): void {
  it('lists events, newest first, while readers of the log give them positions', async ({
    storage,
    scene,
  }) => {
    const webhook = await scene.webhook({ events: ['order.paid'] })
    const publish = (id: string, type: string, projectId = PROJECT_ID) =>
      storage.events.publish(publication([{ id, type, projectId }]))
    const newest = async (limit: number, before?: string) =>
      storage.events.newest({ projectId: PROJECT_ID, limit, ...(before && { before }) })
    const idsOf = (page: readonly { readonly id: string }[]) => page.map(({ id }) => id)
    await publish('a', 'order.paid')
    await publish('b', 'order.sent')
    await logOf(storage)
    await publish('c', 'order.paid')
    await publish('other', 'order.paid', OTHER_PROJECT_ID)
    await publish('d', 'order.paid')
    const all = await newest(10)
    expect(all).toEqual([
      {
        id: 'd',
        name: 'order.paid',
        createdAt: NOW,
        hasDeliveries: true,
        place: expect.anything(),
      },
      expect.objectContaining({ id: 'c', hasDeliveries: true }),
      expect.objectContaining({ id: 'b', name: 'order.sent', hasDeliveries: false }),
      expect.objectContaining({ id: 'a', hasDeliveries: true }),
    ])
    expect(idsOf(await newest(3))).toEqual(['d', 'c', 'b'])
    const after = async (at: number) => idsOf(await newest(2, all[at]?.place))
    expect([await after(0), await after(1), await after(2)]).toEqual([
      ['c', 'b'],
      ['b', 'a'],
      ['a'],
    ])
    expect(await after(3)).toEqual([])
    // A reader gives `c` and `d` their positions. Earlier places stay.
    await logOf(storage)
    expect([await after(0), await after(1), await after(2)]).toEqual([
      ['c', 'b'],
      ['b', 'a'],
      ['a'],
    ])
    expect(idsOf(await newest(10))).toEqual(['d', 'c', 'b', 'a'])
    const found = await storage.deliveries.list(
      { projectId: PROJECT_ID, eventId: 'c' },
      { limit: 9 },
    )
    expect(found.data).toMatchObject([{ eventId: 'c', webhookId: webhook.id }])
    const failed = { projectId: PROJECT_ID, eventId: 'c', status: 'failed' } as const
    expect((await storage.deliveries.list(failed, { limit: 9 })).data).toEqual([])
    const foreign = { projectId: OTHER_PROJECT_ID, eventId: 'c' }
    expect((await storage.deliveries.list(foreign, { limit: 9 })).data).toEqual([])
  })
}

function idempotencySuite(it: StorageTest): void {
  it('publishes an id once in its project', async ({ storage, second, scene }) => {
    await scene.webhook({ events: ['*'] })
    const same = { id: 'o-1', fingerprint: 'a' }
    expect(await storage.events.publish(publication([same]))).toMatchObject({ kind: 'published' })
    expect(await second.events.publish(publication([same]))).toEqual({ kind: 'replayed' })
    expect(await storage.events.publish(publication([{ ...same, fingerprint: 'b' }]))).toEqual({
      kind: 'mismatch',
      ids: ['o-1'],
    })
    const other = { ...same, projectId: OTHER_PROJECT_ID }
    expect(await storage.events.publish(publication([other]))).toMatchObject({ kind: 'published' })
    expect(await logOf(storage)).toEqual(['o-1'])
    expect(await deliveriesOf(storage)).toHaveLength(1)
    expect(await storage.events.get(OTHER_PROJECT_ID, 'o-1')).toMatchObject({ id: 'o-1' })
  })

  it('of callers at the same time, one publishes an id', async ({ storage, second, scene }) => {
    await scene.webhook({ events: ['*'] })
    const stores = [storage, second]
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        (stores[at % 2] ?? storage).events.publish(
          publication([{ id: 'o-1', fingerprint: 'a' }], {
            request: { key: `k-${at % 3}`, fingerprint: 'r' },
          }),
        ),
      ),
    )
    expect(results.filter(({ kind }) => kind === 'published')).toHaveLength(1)
    expect(results.filter(({ kind }) => kind === 'replayed')).toHaveLength(19)
    expect(await deliveriesOf(storage)).toHaveLength(1)
  })

  it('publishes what is new of a batch, or nothing if one id has other content', async ({
    storage,
  }) => {
    await storage.events.publish(publication([{ id: 'a', fingerprint: 'a' }]))
    const wrong = [
      { id: 'a', fingerprint: 'other' },
      { id: 'b', fingerprint: 'b' },
    ]
    expect(await storage.events.publish(publication(wrong))).toEqual({
      kind: 'mismatch',
      ids: ['a'],
    })
    expect(await logOf(storage)).toEqual(['a'])
    const right = [{ id: 'a', fingerprint: 'a' }, ...wrong.slice(1)]
    expect(await storage.events.publish(publication(right))).toMatchObject({ kind: 'published' })
    expect(await logOf(storage)).toEqual(['a', 'b'])
  })

  it('a key covers its request', async ({ storage }) => {
    const request = { key: 'k', fingerprint: 'r' }
    const given = [{ id: 'a' }, { id: 'b' }]
    await storage.events.publish(publication(given, { request }))
    expect(await storage.events.publish(publication(given, { request }))).toEqual({
      kind: 'replayed',
    })
    const other = publication([{ id: 'c' }], { request: { key: 'k', fingerprint: 'other' } })
    expect(await storage.events.publish(other)).toEqual({ kind: 'mismatch', ids: [] })
    expect(await logOf(storage)).toEqual(['a', 'b'])
    const elsewhere = publication([{ id: 'c', projectId: OTHER_PROJECT_ID }], { request })
    expect(await storage.events.publish(elsewhere)).toMatchObject({ kind: 'published' })
  })

  it('a key covers a request whose events were known by their ids', async ({ storage, second }) => {
    const event = { id: 'a', fingerprint: 'a' }
    const asked = (key: string) => ({ request: { key, fingerprint: 'r' } })
    await storage.events.publish(publication([event], asked('k-0')))
    for (const key of ['k-1', 'k-2']) {
      expect(await storage.events.publish(publication([event], asked(key)))).toEqual({
        kind: 'replayed',
      })
      const other = publication([{ id: 'b' }], { request: { key, fingerprint: 'other' } })
      expect(await second.events.publish(other)).toEqual({ kind: 'mismatch', ids: [] })
      expect(await second.events.publish(publication([event], asked(key)))).toEqual({
        kind: 'replayed',
      })
    }
    for (let round = 0; round < 10; round++) {
      const other = { request: { key: `r-${round}`, fingerprint: 'other' } }
      const results = await Promise.all([
        storage.events.publish(publication([event], asked(`r-${round}`))),
        second.events.publish(publication([{}], other)),
      ])
      expect(results.map(({ kind }) => kind)).toContain('mismatch')
    }
    const refused = publication([{ id: 'a', fingerprint: 'other' }], asked('k-3'))
    expect(await storage.events.publish(refused)).toEqual({ kind: 'mismatch', ids: ['a'] })
    const free = publication([{ id: 'c', fingerprint: 'c' }], asked('k-3'))
    expect(await storage.events.publish(free)).toMatchObject({ kind: 'published' })
    expect(await logOf(storage)).toEqual(expect.arrayContaining(['a', 'c']))
  })

  it('batches at the same time that share events store each event once, and all of theirs', async ({
    storage,
    second,
    scene,
  }) => {
    await scene.webhook({ events: ['*'] })
    const claim = { until: NOW + LEASE_MS, timeoutMs: 1_000, except: new Set<string>() }
    const published: string[] = []
    for (let round = 0; round < 10; round++) {
      const named = (...names: string[]) =>
        names.map((name) => ({ id: `${name}-${round}`, fingerprint: 'f' }))
      await storage.events.publish(publication(named('a')))
      const wrong = [...named('d', 'x'), { id: `a-${round}`, fingerprint: 'other' }]
      const asked = [wrong, named('a', 'b', 'c'), named('c', 'b', 'a'), named('a', 'c', 'd')]
      const results = await Promise.all(
        [...asked, named('d', 'b'), named('a', 'd')].flatMap((events, at) => {
          const { outgoing } = publication(named(`new-${at}`, `newer-${at}`))
          const neighbour = publication([], { outgoing: { ...outgoing, claim } })
          const store = at % 2 === 0 ? storage : second
          return [publication(events), neighbour].map((one) => store.events.publish(one))
        }),
      )
      const [refused, ...others] = results.filter((_, at) => at % 2 === 0)
      expect(refused).toEqual({ kind: 'mismatch', ids: [`a-${round}`] })
      const counts = others.map((result) => (result.kind === 'published' ? result.events : 0))
      expect(counts.reduce((sum, count) => sum + count)).toBe(3)
      // No neighbour is told that its events were stored earlier: it sends their deliveries.
      for (const result of results.filter((_, at) => at % 2 === 1))
        expect(result).toMatchObject({ kind: 'published', deliveries: [{}, {}] })
      const all = [
        'a',
        'b',
        'c',
        'd',
        ...[0, 1, 2, 3, 4, 5].flatMap((n) => [`new-${n}`, `newer-${n}`]),
      ]
      published.push(...named(...all).map(({ id }) => id))
    }
    expect((await logOf(storage)).sort()).toEqual(published.sort())
    expect((await deliveriesOf(storage)).map(({ eventId }) => eventId).sort()).toEqual(published)
  })
}

function limitsSuite(it: StorageTest): void {
  const limit = { messagesPerMinute: 60, burst: 3 }
  const takes = [{ bucket: 'events p', of: 'events', limit } as const]
  const levels = (remaining: number) => [{ of: 'events', remaining }]
  const events = (...names: string[]) => names.map((id) => ({ id, fingerprint: 'f' }))

  it('takes a token for each new event, and none for a replay', async ({ storage }) => {
    const first = await storage.events.publish(publication(events('a', 'b'), { takes }))
    expect(first).toMatchObject({ kind: 'published', events: 2, levels: levels(1) })
    const replay = await storage.events.publish(publication(events('a', 'b'), { takes }))
    expect(replay).toEqual({ kind: 'replayed' })
    const refused = publication(events('c', 'd'), { takes })
    expect(await storage.events.publish(refused)).toMatchObject({
      kind: 'rate_limited',
      levels: [{ remaining: 1, retryInMs: 1_000 }],
    })
    expect(await logOf(storage)).toEqual(['a', 'b'])
    const partly = await storage.events.publish(publication(events('a', 'c'), { takes }))
    expect(partly).toMatchObject({ kind: 'published', events: 1, levels: levels(0) })
  })

  it('takes no token for a known request, or for other events of its ids', async ({ storage }) => {
    const request = { key: 'k', fingerprint: 'r' }
    const asked = publication([{}, {}], { takes, request })
    expect(await storage.events.publish(asked)).toMatchObject({ levels: levels(1) })
    expect(await storage.events.publish(asked)).toEqual({ kind: 'replayed' })
    await storage.events.publish(publication([{ id: 'a' }]))
    const other = publication([...events('a'), { id: 'b' }], { takes })
    expect(await storage.events.publish(other)).toEqual({ kind: 'mismatch', ids: ['a'] })
    const last = await storage.events.publish(publication([{}], { takes }))
    expect(last).toMatchObject({ kind: 'published', levels: levels(0) })
  })

  it('takes a full bucket for a batch that is larger', async ({ storage }) => {
    const large = publication([{}, {}, {}, {}, {}], { takes })
    expect(await storage.events.publish(large)).toMatchObject({ events: 5, levels: levels(0) })
    const { kind } = await storage.events.publish(publication([{}], { takes }))
    expect(kind).toBe('rate_limited')
  })

  it('shares the tokens between instances', async ({ storage, second }) => {
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        (n % 2 === 0 ? storage : second).events.publish(publication([{}], { takes })),
      ),
    )
    expect(results.filter(({ kind }) => kind === 'published')).toHaveLength(3)
    expect(await logOf(storage)).toHaveLength(3)
  })
}

function replaySuite(it: StorageTest): void {
  const step = (limit: number, now = NOW) => ({
    limit,
    now,
    nextDeliveryId: ids.next,
    serviceUrl: 'https://x',
  })
  const replay = async (
    { recoveries }: UnwrappedStorage,
    webhookIds: readonly string[],
    more: Partial<RecoveryTask['filter']> = {},
  ) => {
    const filter = { status: 'pending', webhookIds, createdBefore: NOW + 1, ...more } as const
    const recovery = aRecovery({ id: ids.next(), filter })
    await recoveries.create(recovery, 9)
    return recovery
  }

  it('a replay sends stored events to chosen webhooks, page by page and once', async ({
    storage,
    second,
    scene,
  }) => {
    const { recoveries } = storage
    await storage.events.publish(publication([{ id: 'a' }, { id: 'b', type: 'order.lost' }]))
    await storage.events.publish(publication([{ id: 'c', data: { n: 1 } }, { id: 'd' }]))
    await storage.events.publish(publication([{ id: 'o', projectId: OTHER_PROJECT_ID }]))
    const webhook = await scene.webhook({ events: ['order.*'] })
    await scene.webhook({ events: ['order.*'] })
    const { id } = await replay(storage, [webhook.id], { types: ['order.paid'] })
    for (let page = 0; page < 9; page++)
      await Promise.all([recoveries, second.recoveries].map((one) => one.advance(step(1))))
    const found = await deliveriesOf(storage)
    expect(found.map(({ eventId, webhookId }) => [eventId, webhookId])).toEqual(
      ['d', 'c', 'a'].map((event) => [event, webhook.id]),
    )
    expect(await recoveries.get(PROJECT_ID, id)).toMatchObject({
      state: { kind: 'sending' },
      matched: 3,
      redelivered: 3,
      waiting: 3,
    })
    const claimed = await storage.deliveries.claim({ ...CLAIM_ALL, now: NOW, until: LATER })
    expect(claimed.map(({ delivery: { eventId } }) => eventId).sort()).toEqual(['a', 'c', 'd'])
    const { data } = JSON.parse(claimed.find((one) => one.delivery.eventId === 'c')?.body ?? '')
    expect(data).toEqual({ n: 1 })
    // The deliveries keep their events.
    expect(await storage.events.purge({ createdBefore: LATER, limit: 9 })).toBe(2)
    expect(await storage.events.get(PROJECT_ID, 'a')).toBeDefined()
  })

  it('a replay sends each event once while readers of the log give positions', async ({
    storage,
    scene,
  }) => {
    const publish = (...names: string[]) =>
      storage.events.publish(publication(names.map((id) => ({ id }))))
    await publish('a', 'b')
    await logOf(storage)
    await publish('c', 'd', 'e')
    const webhook = await scene.webhook({ events: ['order.*'] })
    await replay(storage, [webhook.id])
    const page = () => storage.recoveries.advance(step(1))
    for (let n = 0; n < 3; n++) await page()
    await logOf(storage)
    await publish('f')
    await page()
    await logOf(storage)
    while ((await page())?.state.kind === 'running');
    const found = (await deliveriesOf(storage)).map(({ eventId }) => eventId)
    expect(found.sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'f'])
  })

  it('a replay obeys filters, subscriptions, times and thin bodies', async ({ storage, scene }) => {
    const events = [{ id: 'a', sessionId: 's-1' }, { id: 'b', sessionId: 't' }, { id: 'c' }]
    await storage.events.publish(publication(events))
    const filtered = await scene.webhook({
      events: ['*'],
      filter: { sessionIdPrefix: 's' },
      payload: 'thin',
    })
    const other = await scene.webhook({ events: ['invoice.paid'] })
    await replay(storage, [filtered.id, other.id])
    await replay(storage, [filtered.id], { createdAfter: NOW + 1 })
    await replay(storage, [filtered.id], { createdBefore: NOW })
    while (await storage.recoveries.advance(step(9)));
    const found = await deliveriesOf(storage)
    expect(found.map(({ eventId }) => eventId)).toEqual(['a'])
    const { body } = (await storage.deliveries.get(PROJECT_ID, found[0]?.id ?? '')) ?? {}
    expect(JSON.parse(body ?? '')).toMatchObject({
      createdAt: new Date(NOW).toISOString(),
      data: { sessionId: 's-1', url: 'https://x/v1/events/a' },
    })
  })

  it('a replay to deleted webhooks fails', async ({ storage, scene }) => {
    const webhook = await scene.webhook({ events: ['*'] })
    await storage.events.publish(publication([{}]))
    await storage.webhooks.delete(PROJECT_ID, webhook.id)
    const { id } = await replay(storage, [webhook.id])
    await storage.recoveries.advance(step(9))
    expect((await storage.recoveries.get(PROJECT_ID, id))?.state).toMatchObject({
      kind: 'failed',
      reason: 'webhook_deleted',
    })
  })
}

function orderSuite(it: StorageTest): void {
  it('G5: a session orders the deliveries of a webhook, with an agent beside its messages', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.webhook({ events: ['*'], ordering: 'session' })
    const ofAgent = { agentId: agent.id, sessionId: 's' }
    await storage.events.publish(
      publication([
        { id: '1', ...ofAgent },
        { id: '2', ...ofAgent },
        { id: '3', sessionId: 's' },
        { id: '4', sessionId: 's' },
        { id: '5' },
      ]),
    )
    await scene.publish(agent, { sessionId: 's' })
    const { deliveries } = await storage.deliveries.claimDue({
      ...CLAIM_ALL,
      now: NOW,
      until: NOW + LEASE_MS,
      timeoutMs: 1_000,
    })
    expect(deliveries.map(({ delivery }) => delivery.eventId).sort()).toEqual(['1', '3', '5'])
  })
}

function removalSuite(it: StorageTest): void {
  it('erases a person with the events that name the person, and with nothing else', async ({
    storage,
    scene,
  }) => {
    await scene.webhook({ events: ['order.paid'] })
    const principal = { executionPrincipal: { type: 'end_user', endUserId: 'u-1' } }
    await storage.events.publish(publication([{ id: 'sent', endUserId: 'u-1' }]))
    await storage.events.publish(
      publication([
        { id: 'alone', type: 'order.lost', endUserId: 'u-1' },
        { id: 'other', type: 'order.lost', endUserId: 'u-2' },
        { id: 'alike', type: 'order.lost', data: principal },
      ]),
    )
    const step = { projectId: PROJECT_ID, endUserId: 'u-1', after: 0, limit: 100, now: NOW }
    const counting = { ...step, countOnly: true }
    expect(await storage.deliveries.erasePrincipal(counting)).toMatchObject({ deliveries: 1 })
    expect(await storage.events.erasePrincipal(counting)).toMatchObject({ events: 1 })
    await storage.deliveries.erasePrincipal({ ...step, countOnly: false })
    await storage.events.erasePrincipal({ ...step, countOnly: false })
    expect(await logOf(storage)).toEqual(['other', 'alike'])
    expect(await deliveriesOf(storage)).toEqual([])
  })

  it('erases the published events of a session or of an agent, in steps', async ({
    storage,
    scene,
  }) => {
    const [agent, other] = [await scene.agent(), await scene.agent()]
    await scene.webhook({ events: ['*'], ordering: 'session' })
    const of = { agentId: agent.id, sessionId: 's' }
    await storage.events.publish(
      publication([
        { id: '1', ...of },
        { id: '2', ...of },
        { id: '3', ...of, sessionId: 't' },
        { id: '4', ...of, agentId: other.id },
        { id: '5', sessionId: 's' },
      ]),
    )
    await scene.publish(agent, { id: 'own', sessionId: 's' })
    const step = { projectId: PROJECT_ID, agentId: agent.id, limit: 1, now: NOW }
    const ofSession = { ...step, sessionId: 's' }
    expect(await storage.events.eraseOf({ ...step, projectId: OTHER_PROJECT_ID })).toBe(0)
    expect(await storage.events.eraseOf(ofSession)).toBe(1)
    expect(await storage.events.eraseOf(ofSession)).toBe(1)
    expect(await storage.events.eraseOf(ofSession)).toBe(0)
    expect(await logOf(storage)).toEqual(['3', '4', '5', 'own'])
    const left = await deliveriesOf(storage)
    expect(left.map(({ eventId, state }) => `${eventId} ${state.kind}`).sort()).toEqual([
      '3 pending',
      '4 pending',
      '5 pending',
      'own pending',
    ])
    expect(await storage.events.eraseOf({ ...step, limit: 10 })).toBe(1)
  })

  it('sweeps the published events that the deletion of an agent left, in steps', async ({
    storage,
    scene,
  }) => {
    const [agent, other] = [await scene.agent(), await scene.agent()]
    await scene.webhook({ events: ['*'], ordering: 'session' })
    const [of, ofOther] = [{ agentId: agent.id }, { agentId: other.id }]
    await storage.events.publish(
      publication([{ id: '1', ...of }, { id: '2', ...of }, { id: '3', ...ofOther }, { id: '4' }]),
    )
    await storage.agents.delete(PROJECT_ID, agent.id)
    const step = { limit: 1, now: NOW }
    while ((await storage.messages.sweep(step)) > 0);
    expect(await logOf(storage)).toEqual(['3', '4'])
    expect(await deliveriesOf(storage)).toHaveLength(2)
  })

  it('refuses an event whose agent was deleted since the request, and the events beside it', async ({
    storage,
    scene,
  }) => {
    const [agent, deleted] = [await scene.agent(), await scene.agent()]
    const of = { agentId: deleted.id }
    const before = publication([{ id: 'before', fingerprint: 'a', ...of }])
    await storage.events.publish(before)
    await storage.agents.delete(PROJECT_ID, deleted.id)
    const given = [{ id: 'beside', agentId: agent.id }, { id: 'late', ...of }, { id: 'no agent' }]
    const refused = { kind: 'agent_not_found', ids: ['late'] }
    expect(await storage.events.publish(publication(given))).toEqual(refused)
    expect(await storage.events.publish(publication(given.slice(1, 2)))).toEqual(refused)
    const mixed = publication([{ id: 'before', fingerprint: 'a', ...of }, ...given])
    expect(await storage.events.publish(mixed)).toEqual(refused)
    expect(await storage.events.publish(before)).toEqual({ kind: 'replayed' })
    const foreign = { id: 'foreign', agentId: agent.id, projectId: OTHER_PROJECT_ID }
    expect(await storage.events.publish(publication([foreign]))).toEqual({
      kind: 'agent_not_found',
      ids: ['foreign'],
    })
    while ((await storage.messages.sweep({ limit: 10, now: NOW })) > 0);
    expect(await logOf(storage)).toEqual([])
  })

  it('remembers an id for its time, also if events are kept for less', async ({ storage }) => {
    const ofRequest = { request: { key: 'k', fingerprint: 'r' } }
    const publish = (id: string, fingerprint: string, more = {}) =>
      storage.events.publish(publication([{ id, fingerprint }], more))
    await publish('named', 'a')
    await storage.events.publish(publication([{ id: 'keyed' }], ofRequest))
    await storage.events.publish(publication([{ id: 'plain' }]))
    const purge = { createdBefore: LATER, limit: 100 }
    expect(await storage.events.purge({ ...purge, idsBefore: NOW })).toBe(2)
    expect(await publish('named', 'other')).toEqual({ kind: 'mismatch', ids: ['named'] })
    expect(await publish('keyed', 'a', ofRequest)).toEqual({ kind: 'replayed' })
    expect(await storage.events.purge({ ...purge, idsBefore: NOW })).toBe(0)
    // The id and the key.
    expect(await storage.events.purge({ ...purge, idsBefore: NOW + 1 })).toBe(2)
    expect(await publish('keyed', 'a', ofRequest)).toMatchObject({ kind: 'published' })
  })
}
