import { success, failure } from '@org/agent-messaging-core/runtime'
import { expect, it } from 'vitest'
import type { AttemptMaker } from '../ports/attempt-maker.js'
import type { ClaimDue, ClaimedDelivery } from '../ports/delivery-store.js'
import type { Storage } from '../ports/storage.js'
import {
  anEvent,
  anAgent,
  aWebhook,
  fakePlatform,
  memoryWorkSignal,
} from '@org/agent-messaging-testing'
import { defaultPolicy } from '../policy.js'
import { newSecret } from '../domain/webhooks/signature.js'
import { webhookSecretContext } from '../domain/webhooks/webhook.js'
import { localSignal } from '../messages/local-signal.js'
import { firstSlots } from './adaptive-limit.js'
import { eventNews } from '../pacing/event-news.js'
import { attemptMaker } from './attempt-maker.js'
import { DeliverySender } from './delivery-sender.js'

/** The slots of a new webhook. */
const MOST = firstSlots(defaultPolicy.deliver.maxInFlight)
const born = (deliveries: readonly ClaimedDelivery[], ...skipped: string[]) => ({
  deliveries,
  skipped,
})

/** One webhook, and `claims` counts the claims. None finds a delivery. */
async function worker(attempts?: AttemptMaker) {
  const platform = fakePlatform()
  platform.sender.hold()
  const { id } = aWebhook()
  const webhook = aWebhook({
    id,
    secret: platform.crypto.seal(newSecret(platform.crypto.randomBytes), webhookSecretContext(id)),
  })
  const workSignal = memoryWorkSignal()
  let claims = 0
  const { claimDue } = platform.storage.deliveries
  platform.storage.deliveries.claimDue = (query) => (claims++, claimDue(query))
  const deliveries = new DeliverySender({
    ...platform,
    attempts: attempts ?? attemptMaker({ ...platform, policy: defaultPolicy }),
    workSignal,
    eventNews: eventNews(workSignal),
    signal: localSignal(),
    leaseKeeper: { hold: () => undefined, release: () => undefined },
    runtimes: new Map(),
    policy: defaultPolicy,
    checkMasterKey: () => Promise.resolve(success(undefined)),
    shared: (read) => read,
    byCode: (read) => read(),
    stopping: new AbortController().signal,
    stopDeadline: new AbortController().signal,
  })
  deliveries.start()
  await platform.clock.advance(0)
  claims = 0
  const committed = (n: number): ClaimedDelivery[] =>
    Array.from({ length: n }, () => {
      const { id, projectId, name, body, createdAt } = anEvent(anAgent())
      const state = { kind: 'sending', leaseUntil: createdAt, step: 0 } as const
      const until = platform.clock.now() + defaultPolicy.deliver.leaseMs
      const delivery = {
        id,
        projectId,
        webhookId: webhook.id,
        eventId: id,
        event: name,
        attemptCount: 0,
        state,
        createdAt,
      }
      return { delivery, webhook, lease: { token: 1, until }, body }
    })
  return {
    webhook,
    deliveries,
    committed,
    claimed: () => claims,
    ...platform,
    workSignal,
    eventNews: eventNews(workSignal),
    settled: () => platform.clock.advance(0),
  }
}

it('claims the skipped deliveries of a full webhook once it has room, and not before', async () => {
  const { webhook, deliveries, committed, claimed, sender, settled } = await worker()
  deliveries.take(born(committed(3 * MOST)), deliveries.admit())
  const admission = deliveries.admit()
  expect(admission?.except.has(webhook.id)).toBe(true)
  deliveries.take(born([], webhook.id), admission)
  await settled()
  expect(claimed()).toBe(0)
  sender.release()
  await settled()
  expect(claimed()).toBe(1)
})

it('looks for it too when there was room again before it was committed', async () => {
  const { webhook, deliveries, committed, claimed, sender, settled } = await worker()
  deliveries.take(born(committed(3 * MOST)), deliveries.admit())
  const admission = deliveries.admit()
  expect(admission?.except.has(webhook.id)).toBe(true)
  sender.release()
  await settled()
  expect(claimed()).toBe(0)
  deliveries.take(born([], webhook.id), admission)
  await settled()
  expect(claimed()).toBe(1)
})

it('claims again at once when a webhook gets room during a claim that skipped it', async () => {
  const { deliveries, committed, claimed, sender, storage, settled } = await worker()
  const looks: (() => void)[] = []
  const { claimDue } = storage.deliveries
  storage.deliveries.claimDue = (query) =>
    new Promise<void>((begin) => looks.push(begin)).then(() => claimDue(query))
  deliveries.take(born(committed(3 * MOST)), deliveries.admit())
  deliveries.wake()
  await settled()
  sender.release()
  await settled()
  expect([looks.length, claimed()]).toEqual([1, 0])
  looks[0]?.()
  await settled()
  expect([looks.length, claimed()]).toEqual([2, 1])
})

it('G6: limits a claim: per webhook to two rounds of its slots, per project to a quarter, and retries to the rest of their share', async () => {
  const { webhook, deliveries, committed, storage, settled } = await worker()
  const asked: ClaimDue[] = []
  const { claimDue } = storage.deliveries
  storage.deliveries.claimDue = (query) => (asked.push(query), claimDue(query))
  const { prefetch } = defaultPolicy.deliver
  deliveries.wake()
  await settled()
  const retries = committed(MOST + 3).map((one): ClaimedDelivery => ({
    ...one,
    delivery: { ...one.delivery, attemptCount: 1 },
  }))
  deliveries.take(born(retries), deliveries.admit())
  deliveries.wake()
  await settled()
  const shares = { perWebhook: prefetch / 4, perProject: prefetch / 4 }
  expect(asked).toMatchObject([
    { ...shares, retries: (prefetch * 3) / 4 },
    { ...shares, retries: (prefetch * 3) / 4 - 3 },
  ])
  expect(asked[1]?.rooms.get(webhook.id)).toBe(2 * MOST - 3)
  expect(asked[1]?.rooms.get('unknown')).toBe(2 * MOST)
})

it('looks for nothing when all were born claimed', async () => {
  const { deliveries, committed, claimed, sender, settled } = await worker()
  deliveries.take(born(committed(3 * MOST)), deliveries.admit())
  sender.release()
  await settled()
  expect(sender.requests).toHaveLength(3 * MOST)
  expect(claimed()).toBe(0)
})

it('claims deliveries at once that were committed without a claim', async () => {
  const { deliveries, claimed, settled } = await worker()
  deliveries.take(born([]), undefined)
  await settled()
  expect(claimed()).toBe(1)
})

it('continues with due retries after it held the most it can', async () => {
  const { deliveries, committed, claimed, crypto, sender, settled } = await worker()
  const retries = committed(7 * 64).map((one, n): ClaimedDelivery => {
    const id = `webhook ${n % 64}`
    const secret = crypto.seal(newSecret(crypto.randomBytes), webhookSecretContext(id))
    const webhook = { ...one.webhook, id, projectId: `project ${n % 4}`, secret }
    return { ...one, webhook, delivery: { ...one.delivery, attemptCount: 1 } }
  })
  deliveries.take(born(retries), deliveries.admit())
  deliveries.wake() // as when a circuit closes, or another process says that there is work
  await settled()
  expect(claimed()).toBe(1)
  sender.release()
  await settled()
  expect(claimed()).toBeGreaterThan(1)
})

it('releases a delivery that a thread started too late, without an attempt', async () => {
  const outcome = { kind: 'unreachable', error: 'interrupted', detail: 'too late' } as const
  const make: AttemptMaker['make'] = async ({ lease: { until } }) => ({
    startedAt: until,
    endedAt: until,
    outcome,
  })
  const { deliveries, committed, storage, settled } = await worker({
    starting: () => undefined,
    make,
  })
  let records = 0
  const { recordAttempts } = storage.deliveries
  storage.deliveries.recordAttempts = (all) => (records++, recordAttempts(all))
  deliveries.take(born(committed(1)), deliveries.admit())
  await settled()
  expect([records, deliveries.inFlight]).toEqual([0, 0])
})

it('holds deliveries while the maker starts, where a change of their webhook reaches them', async () => {
  const started = new AbortController()
  const sent: string[] = []
  const { webhook, deliveries, committed, storage, settled } = await worker({
    starting: () =>
      started.signal.aborted
        ? undefined
        : new Promise((resolve) => started.signal.addEventListener('abort', () => resolve())),
    make: async ({ webhook: { url } }) => {
      sent.push(url)
      return {
        startedAt: 0,
        endedAt: 0,
        outcome: { kind: 'accepted', statusCode: 200, responseBody: '' },
      }
    },
  })
  deliveries.take(born(committed(2)), deliveries.admit())
  await settled()
  expect([sent, deliveries.inFlight]).toEqual([[], 0])
  const changed = { ...webhook, url: 'https://new.example/' }
  storage.webhooks.get = () => Promise.resolve(success(changed))
  deliveries.webhookChanged(changed)
  started.abort()
  await settled()
  expect(sent).toEqual(['https://new.example/', 'https://new.example/'])
})

/** Those that are given up with the calls of `release`. */
function givenUp(storage: Storage): string[][] {
  const calls: string[][] = []
  storage.deliveries.release = (claims) => {
    calls.push(claims.map(({ deliveryId }) => deliveryId))
    return Promise.resolve(success(claims.length))
  }
  return calls
}

it('reports once that a webhook waits for its own limit for over a minute', async () => {
  const { webhook, deliveries, committed, telemetry, clock } = await worker({
    starting: () => undefined,
    make: () => new Promise(() => undefined),
  })
  deliveries.take(born(committed(MOST + 1)), deliveries.admit())
  expect(deliveries.receivers.limitOf(webhook)).toEqual({ concurrency: MOST, reason: 'slots' })
  await clock.advance(59_000)
  expect(telemetry.named('webhook.waiting')).toEqual([])
  await clock.advance(120_000)
  const { id: webhookId, projectId } = webhook
  expect(telemetry.named('webhook.waiting')).toMatchObject([
    { webhookId, projectId, concurrency: MOST, reason: 'slots' },
  ])
})

it('releases waiting and later deliveries when it stops, and tells other processes', async () => {
  const { deliveries, committed, storage, workSignal, sender } = await worker()
  const [calls, announced] = [givenUp(storage), [] as string[]]
  workSignal.onAnnounced(({ kind }) => announced.push(kind))
  const [first, late] = [committed(MOST + 2), committed(1)]
  const admission = deliveries.admit()
  deliveries.take(born(first), deliveries.admit())
  const stopping = deliveries.stop(1_000)
  sender.release()
  await stopping
  deliveries.take(born(late), admission)
  expect(calls).toEqual(
    [first.slice(MOST), late].map((given) => given.map(({ delivery }) => delivery.id)),
  )
  expect(new Set(announced)).toEqual(new Set(['deliveries']))
})

it('leaves what it cannot give up to its lease, and says why', async () => {
  const { webhook, deliveries, committed, storage, telemetry, settled } = await worker()
  storage.deliveries.release = () =>
    Promise.resolve(failure({ kind: 'unavailable', reason: 'away' }))
  deliveries.take(born(committed(MOST + 2)), deliveries.admit())
  deliveries.webhookDeleted(webhook.projectId, webhook.id)
  await settled()
  expect(telemetry.named('store.unavailable')).toMatchObject([{ reason: 'away' }])
  expect(deliveries.inFlight).toBe(MOST)
})
