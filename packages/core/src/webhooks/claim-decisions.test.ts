import { describe, expect, it } from 'vitest'
import { canMoreBeDue, decideClaimBounds, shouldClaimAgain } from './claim-decisions.js'

const policy = {
  deadlineMs: 1,
  leaseMs: 2,
  maxInFlight: 64,
  prefetch: 512,
}

describe('the bounds of a claim', () => {
  it.each([
    ['nothing is held', { room: 512, waitingRetries: 0 }, { limit: 512, retries: 384 }],
    ['retries wait', { room: 100, waitingRetries: 300 }, { limit: 100, retries: 84 }],
    ['retries have their share', { room: 9, waitingRetries: 400 }, { limit: 9, retries: 0 }],
  ])('when %s', (_, held, expected) => {
    const bounds = decideClaimBounds(policy, held)
    expect(bounds).toEqual({ perWebhook: 128, perProject: 128, ...expected })
  })
})

describe('after a claim, more can be due', () => {
  const bounds = { limit: 100, perWebhook: 16, perProject: 128, retries: 384 }
  it.each([
    ['no: it found nothing', bounds, 0, false],
    ['no: it stayed below every bound', bounds, 15, false],
    ['yes: it reached the bound of one webhook', bounds, 16, true],
    ['yes: it asked for no retries', { ...bounds, retries: 0 }, 0, true],
  ])('%s', (_, asked, claimed, expected) => {
    expect(canMoreBeDue(asked, claimed)).toBe(expected)
  })
})

describe('the sender claims again', () => {
  const state = { isClaiming: false, moreDue: true, waiting: 255, prefetch: 512 }
  it.each([
    ['when more is due and less than half waits', state, true],
    ['not while a claim is running', { ...state, isClaiming: true }, false],
    ['not when nothing more is due', { ...state, moreDue: false }, false],
    ['not while half still waits', { ...state, waiting: 256 }, false],
  ])('%s', (_, now, expected) => {
    expect(shouldClaimAgain(now)).toBe(expected)
  })
})
