import { expect } from 'vitest'
import type { AfterAttempt, ClaimedDelivery } from '@org/agent-messaging-core/storage'
import type { Outcome } from '@org/agent-messaging-core/runtime'
import { accepted, refused, unreachable } from '../../fakes/fake-sender.js'
import { CLAIM_ALL, LEASE_MS, MINUTE, NOW, SECOND, UNKNOWN_ID, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const delivered = { kind: 'delivered', deliveredAt: NOW + 1 } as const
const exhausted = { kind: 'exhausted', exhaustedAt: NOW + 1 } as const
const pending = { kind: 'pending', nextAttemptAt: NOW + MINUTE, step: 1 } as const

const OUTCOMES: readonly Outcome[] = [
  { kind: 'accepted', statusCode: 204, responseBody: '' },
  { kind: 'refused', statusCode: 503, responseBody: 'é\u{1F600} later', retryAfterMs: 5_000 },
  { kind: 'refused', statusCode: 302, responseBody: '' },
  { kind: 'unreachable', error: 'address_blocked', detail: '127.0.0.1 is not public' },
]

/** A delivery that is born claimed. */
async function sending(scene: Scene): Promise<ClaimedDelivery> {
  await scene.webhook()
  const [claimed] = await scene.publish(
    await scene.agent(),
    {},
    { until: NOW + LEASE_MS, except: new Set() },
  )
  if (!claimed) throw new Error('no delivery was born claimed')
  return claimed
}

const record = (
  { deliveries }: UnwrappedStorage,
  { delivery, lease }: ClaimedDelivery,
  outcome: Outcome,
  state: AfterAttempt,
) =>
  deliveries.recordAttempt({
    deliveryId: delivery.id,
    token: lease.token,
    attempt: { startedAt: NOW, durationMs: 12, outcome },
    state,
  })

async function claimAgain({ deliveries }: UnwrappedStorage, now: number): Promise<ClaimedDelivery> {
  const [claimed] = await deliveries.claim({
    ...CLAIM_ALL,
    now,
    until: now + LEASE_MS,
    limit: 1,
  })
  if (!claimed) throw new Error(`nothing is due at ${now}`)
  return claimed
}

const reread = ({ deliveries }: UnwrappedStorage, { delivery }: ClaimedDelivery) =>
  deliveries.get(delivery.projectId, delivery.id)

export function attemptsSuite(it: StorageTest): void {
  it.for(OUTCOMES)(
    'keeps the attempt with its outcome: %j',
    async (outcome, { storage, scene }) => {
      const claimed = await sending(scene)
      const state = outcome.kind === 'accepted' ? delivered : exhausted
      expect(await record(storage, claimed, outcome, state)).toEqual({ kind: 'recorded' })
      expect(await reread(storage, claimed)).toEqual({
        delivery: { ...claimed.delivery, attemptCount: 1, state },
        body: claimed.body,
        attempts: [{ attemptNumber: 1, startedAt: NOW, durationMs: 12, outcome }],
      })
    },
  )

  it('keeps the request headers of each attempt as they were, and knows of an attempt without', async ({
    storage,
    scene,
  }) => {
    const headers = [
      { 'webhook-id': '1', 'webhook-timestamp': '7', 'X-Ä': 'é', 'X-Empty': '' },
      undefined,
      { 'webhook-id': '1', 'webhook-timestamp': '8', 'X-Ä': 'ü', 'X-Empty': '' },
      { 'webhook-id': '1' },
    ]
    let claimed = await sending(scene)
    for (const [step, requestHeaders] of headers.entries()) {
      const attempt = {
        startedAt: NOW,
        durationMs: 1,
        outcome: refused(),
        ...(requestHeaders && { requestHeaders, url: `https://receiver.example/${step}` }),
      }
      const state = { kind: 'pending', nextAttemptAt: NOW + step, step } as const
      await storage.deliveries.recordAttempt({
        deliveryId: claimed.delivery.id,
        token: claimed.lease.token,
        attempt,
        state,
      })
      claimed = await claimAgain(storage, NOW + MINUTE)
    }
    const { attempts = [] } = (await reread(storage, claimed)) ?? {}
    expect(attempts.map(({ requestHeaders }) => requestHeaders)).toEqual(headers)
    expect(attempts.map(({ url }) => url?.at(-1))).toEqual(['0', undefined, '2', '3'])
    expect(attempts[1]).not.toHaveProperty('requestHeaders')
  })

  it('hands the trace of the event to each attempt', async ({ storage, scene }) => {
    await scene.webhook()
    const agent = await scene.agent()
    const trace = {
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      tracestate: 'a=1',
    }
    const [born] = await scene.publish(
      agent,
      { trace },
      { until: NOW + LEASE_MS, except: new Set() },
    )
    expect(born?.trace).toEqual(trace)
    expect((await claimAgain(storage, NOW + LEASE_MS)).trace).toEqual(trace)
    const [without] = await scene.publish(agent, {}, { until: NOW + LEASE_MS, except: new Set() })
    expect(without).not.toHaveProperty('trace')
  })

  it('G4: retries at the time that was decided, with the same id and body, and numbers the attempts from 1', async ({
    storage,
    scene,
  }) => {
    const first = await sending(scene)
    await record(storage, first, unreachable(), pending)
    const claims = { ...CLAIM_ALL, until: NOW + LEASE_MS, limit: 1 }
    expect(await storage.deliveries.claim({ ...claims, now: NOW + MINUTE - 1 })).toEqual([])

    const second = await claimAgain(storage, NOW + MINUTE)
    expect(second).toMatchObject({
      body: first.body,
      delivery: { id: first.delivery.id, attemptCount: 1, state: { kind: 'sending', step: 1 } },
    })
    await record(storage, second, refused(), {
      ...pending,
      nextAttemptAt: NOW + 2 * MINUTE,
      step: 2,
    })
    await record(storage, await claimAgain(storage, NOW + 2 * MINUTE), accepted(), delivered)
    const detail = await reread(storage, first)
    expect(
      detail?.attempts.map(({ attemptNumber, outcome }) => [attemptNumber, outcome.kind]),
    ).toEqual([
      [1, 'unreachable'],
      [2, 'refused'],
      [3, 'accepted'],
    ])
    expect(detail?.delivery).toMatchObject({ attemptCount: 3, state: delivered })
  })

  it('counts an attempt once, however often its record is repeated', async ({ storage, scene }) => {
    const claimed = await sending(scene)
    expect(await record(storage, claimed, refused(), pending)).toEqual({ kind: 'recorded' })
    expect(await record(storage, claimed, refused(), pending)).toEqual({ kind: 'lease_lost' })
    expect(await reread(storage, claimed)).toMatchObject({
      delivery: { attemptCount: 1 },
      attempts: [{ attemptNumber: 1 }],
    })
  })

  it('records an attempt after the end of its lease, until the next claim of the delivery', async ({
    storage,
    scene,
  }) => {
    const claimed = await sending(scene)
    expect(
      await record(storage, claimed, refused(), { ...pending, nextAttemptAt: NOW + 9 * MINUTE }),
    ).toEqual({ kind: 'recorded' })
    expect(await reread(storage, claimed)).toMatchObject({
      delivery: { state: { kind: 'pending', nextAttemptAt: NOW + 9 * MINUTE } },
    })
  })

  it.for([refused(), unreachable('timeout')])(
    'refuses a failed attempt of a lease that is lost: %j',
    async (outcome, { storage, scene }) => {
      const late = await sending(scene)
      const newer = await claimAgain(storage, NOW + LEASE_MS)
      expect(await record(storage, late, outcome, pending)).toEqual({ kind: 'lease_lost' })
      expect(await reread(storage, late)).toMatchObject({ delivery: newer.delivery, attempts: [] })
      expect(await record(storage, newer, accepted(), delivered)).toEqual({ kind: 'recorded' })
    },
  )

  it('G4: counts what a receiver took, however late we learn it', async ({ storage, scene }) => {
    const late = await sending(scene)
    const newer = await claimAgain(storage, NOW + LEASE_MS)
    expect(await record(storage, late, accepted(), delivered)).toEqual({ kind: 'recorded' })
    expect(await record(storage, newer, refused(), pending)).toEqual({ kind: 'lease_lost' })
    expect(await reread(storage, late)).toMatchObject({
      delivery: { state: delivered, attemptCount: 1 },
    })
  })

  it('G4: counts an accepted attempt also after the failure of a later one', async ({
    storage,
    scene,
  }) => {
    const late = await sending(scene)
    await record(storage, await claimAgain(storage, NOW + LEASE_MS), refused(), pending)
    expect(await record(storage, late, accepted(), delivered)).toEqual({ kind: 'recorded' })
    const detail = await reread(storage, late)
    expect(detail?.attempts.map(({ attemptNumber }) => attemptNumber)).toEqual([1, 2])
    expect(detail?.delivery.state).toEqual(delivered)
    await expect(claimAgain(storage, NOW + 9 * MINUTE)).rejects.toThrow('nothing is due')
  })

  it.for([delivered, exhausted])(
    'never changes a delivery that is final: $kind',
    async (state, { storage, scene }) => {
      const late = await sending(scene)
      const newer = await claimAgain(storage, NOW + LEASE_MS)
      await record(storage, newer, state === delivered ? accepted() : refused(), state)
      const kept = await reread(storage, late)
      for (const claimed of [late, newer]) {
        expect(
          await record(storage, claimed, accepted(), {
            kind: 'delivered',
            deliveredAt: NOW + SECOND,
          }),
        ).toEqual({ kind: 'lease_lost' })
        expect(await record(storage, claimed, refused(), pending)).toEqual({ kind: 'lease_lost' })
      }
      expect(await reread(storage, late)).toEqual(kept)
      await expect(claimAgain(storage, NOW + 9 * MINUTE)).rejects.toThrow('nothing is due')
    },
  )

  it('refuses an attempt of no delivery', async ({ storage, scene }) => {
    const claimed = await sending(scene)
    const unknown = { ...claimed, delivery: { ...claimed.delivery, id: UNKNOWN_ID } }
    expect(await record(storage, unknown, accepted(), delivered)).toEqual({ kind: 'lease_lost' })
  })

  it('G4: records one of many attempts under one token that come at once', async ({
    storage,
    second,
    scene,
  }) => {
    const claimed = await sending(scene)
    const records = Array.from({ length: 10 }, (_, i) =>
      record(i % 2 ? storage : second, claimed, refused(), pending),
    )
    expect((await Promise.all(records)).filter(({ kind }) => kind === 'recorded')).toHaveLength(1)
    expect((await reread(storage, claimed))?.attempts).toHaveLength(1)
  })
}
