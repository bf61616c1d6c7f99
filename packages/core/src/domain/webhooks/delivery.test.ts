import { describe, expect, it } from 'vitest'
import {
  decideNextState,
  decideRedelivery,
  defaultRetryPolicy,
  deliveryStatusOf,
  hasStatus,
  keepsOrder,
  shownUrl,
  type DeliveryState,
  type Outcome,
  type SendingDelivery,
} from './delivery.js'

const sending = (step: number): SendingDelivery => ({
  ...{
    id: 'd',
    projectId: 'p',
    webhookId: 'w',
    eventId: 'e',
    event: 'agent.error',
    attemptCount: 0,
    createdAt: 0,
  },
  state: { kind: 'sending', leaseUntil: 99, step },
})
const refused = (retryAfterMs?: number): Outcome => ({
  ...{ kind: 'refused', statusCode: 503, responseBody: '' },
  ...(retryAfterMs !== undefined && { retryAfterMs }),
})
const policy = { delaysMs: [1_000, 60_000], jitter: 0.2, maxRetryAfterMs: 3_600_000 }

describe('the state of a delivery after an attempt', () => {
  it('is delivered once the receiver accepted it', () => {
    const accepted: Outcome = { kind: 'accepted', statusCode: 204, responseBody: '' }
    expect(decideNextState(sending(0), accepted, policy, 5_000, 0)).toEqual({
      kind: 'delivered',
      deliveredAt: 5_000,
    })
  })
  it('is tried again after the delay of its step', () => {
    expect(decideNextState(sending(0), refused(), policy, 5_000, 0)).toEqual({
      kind: 'pending',
      nextAttemptAt: 6_000,
      step: 1,
    })
    expect(decideNextState(sending(1), refused(), policy, 5_000, 0)).toEqual({
      kind: 'pending',
      nextAttemptAt: 65_000,
      step: 2,
    })
  })
  it('is exhausted when the schedule ends', () => {
    expect(decideNextState(sending(2), refused(), policy, 5_000, 0)).toEqual({
      kind: 'exhausted',
      exhaustedAt: 5_000,
    })
  })
  it('lengthens a delay by jitter and never shortens it', () => {
    expect(decideNextState(sending(0), refused(), policy, 0, 0.5)).toMatchObject({
      nextAttemptAt: 1_100,
    })
  })
  it('takes Retry-After as a floor, up to its cap', () => {
    expect(decideNextState(sending(0), refused(120_000), policy, 0, 0)).toMatchObject({
      nextAttemptAt: 120_000,
    })
    expect(decideNextState(sending(1), refused(10), policy, 0, 0)).toMatchObject({
      nextAttemptAt: 60_000,
    })
    expect(decideNextState(sending(0), refused(1e12), policy, 0, 0)).toMatchObject({
      nextAttemptAt: 3_600_000,
    })
  })
  it('counts an unreachable receiver as a failure like any other', () => {
    const unreachable: Outcome = { kind: 'unreachable', error: 'connect', detail: '' }
    expect(decideNextState(sending(0), unreachable, policy, 0, 0)).toEqual({
      kind: 'pending',
      nextAttemptAt: 1_000,
      step: 1,
    })
  })
  it('goes through the schedule once more after interruptions by the service', () => {
    const interrupted: Outcome = { kind: 'unreachable', error: 'interrupted', detail: '' }
    expect(decideNextState(sending(0), interrupted, policy, 0, 0)).toEqual({
      kind: 'pending',
      nextAttemptAt: 1_000,
      step: 1,
    })
    expect(decideNextState(sending(2), interrupted, policy, 0, 0)).toEqual({
      kind: 'pending',
      nextAttemptAt: 1_000,
      step: 3,
    })
    expect(decideNextState(sending(3), interrupted, policy, 0, 0)).toEqual({
      kind: 'pending',
      nextAttemptAt: 60_000,
      step: 4,
    })
    expect(decideNextState(sending(4), interrupted, policy, 5_000, 0)).toEqual({
      kind: 'exhausted',
      exhaustedAt: 5_000,
    })
    expect(decideNextState(sending(3), refused(), policy, 5_000, 0)).toEqual({
      kind: 'exhausted',
      exhaustedAt: 5_000,
    })
  })
  it('has the published schedule: nine retries in about three days', () => {
    const delays = defaultRetryPolicy.delaysMs.map((ms) => ms / 1_000)
    expect(delays).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400])
  })
})

describe('a delivery that an operator wants sent again', () => {
  it('gets one extra attempt, whose failure leaves the schedule as it was', () => {
    const extra = decideRedelivery({ kind: 'pending', nextAttemptAt: 60_000, step: 2 }, 5_000, true)
    expect(extra).toEqual({ kind: 'pending', nextAttemptAt: 5_000, step: 2, resumeAt: 60_000 })
    const sent = {
      ...sending(2),
      state: { kind: 'sending', leaseUntil: 99, step: 2, resumeAt: 60_000 },
    } as const
    expect(decideNextState(sent, refused(), policy, 6_000, 1)).toEqual({
      kind: 'pending',
      nextAttemptAt: 60_000,
      step: 2,
    })
    expect(decideNextState(sent, refused(120_000), policy, 6_000, 1)).toEqual({
      kind: 'pending',
      nextAttemptAt: 126_000,
      step: 2,
    })
  })
  it('starts a fresh schedule when it was final', () => {
    const fresh = { kind: 'pending', nextAttemptAt: 5_000, step: 0 }
    expect(decideRedelivery({ kind: 'exhausted', exhaustedAt: 1 }, 5_000, false)).toEqual(fresh)
    expect(decideRedelivery({ kind: 'delivered', deliveredAt: 1 }, 5_000, true)).toEqual(fresh)
    expect(
      decideRedelivery({ kind: 'cancelled', cancelledAt: 1, reason: 'operator' }, 5_000, true),
    ).toEqual(fresh)
  })
  it('is left alone while it is being sent or due', () => {
    expect(decideRedelivery(sending(0).state, 5_000, true)).toBeUndefined()
    expect(
      decideRedelivery({ kind: 'pending', nextAttemptAt: 5_000, step: 1 }, 5_000, true),
    ).toBeUndefined()
  })
  it('is sent out of order if it waits and the operator named it', () => {
    const waiting = { kind: 'waiting', blockedBy: 'd' } as const
    expect(decideRedelivery(waiting, 5_000, false)).toBeUndefined()
    expect(decideRedelivery(waiting, 5_000, true)).toEqual({
      kind: 'pending',
      nextAttemptAt: 5_000,
      step: 0,
    })
    expect(keepsOrder(waiting)).toBe(false)
    expect(keepsOrder({ kind: 'exhausted', exhaustedAt: 1 })).toBe(false)
    expect(keepsOrder({ kind: 'pending', nextAttemptAt: 1, step: 1 })).toBe(true)
  })
})

it('shows a claimed delivery as pending', () => {
  expect(deliveryStatusOf(sending(0).state)).toBe('pending')
  expect(deliveryStatusOf({ kind: 'waiting', blockedBy: 'd' })).toBe('pending')
  expect(deliveryStatusOf({ kind: 'exhausted', exhaustedAt: 1 })).toBe('exhausted')
})

it.each([
  [
    'https://user:secret@receiver.example:8443/hook/a?key=secret#part',
    'https://receiver.example:8443/hook/a',
  ],
  ['https://receiver.example', 'https://receiver.example/'],
  ['queue:orders?key=secret', 'queue:orders'],
])('shows the URL %s as %s', (url, shown) => {
  expect(shownUrl(url)).toBe(shown)
})

it.each<[DeliveryState, boolean]>([
  [{ kind: 'exhausted', exhaustedAt: 1 }, true],
  [{ kind: 'pending', nextAttemptAt: 1, step: 1 }, true],
  [{ kind: 'sending', leaseUntil: 1, step: 2 }, true],
  [{ kind: 'pending', nextAttemptAt: 1, step: 0 }, false],
  [{ kind: 'waiting', blockedBy: 'd' }, false],
  [{ kind: 'delivered', deliveredAt: 1 }, false],
])('%j counts as failed: %s', (state, isFailed) => {
  expect(hasStatus(state, 'failed')).toBe(isFailed)
  expect(hasStatus(state, deliveryStatusOf(state))).toBe(true)
})
