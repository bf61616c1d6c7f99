import { describe, expect, it } from 'vitest'
import { ClaimState } from './claim-state.js'

const PREFETCH = 512
const held = { room: 100, waiting: 0, waitingRetries: 0, except: new Set<string>() }

type Step = (claims: ClaimState, except: Set<string>) => void
const committedElsewhere: Step = (claims) => claims.found()
const slotFreed: Step = (claims) => claims.slotFreed()
const begin: Step = (claims) => claims.begin()
const end =
  (claimed: number): Step =>
  (claims) =>
    void claims.end(claims.bounds, claimed)
const fill =
  (id: string): Step =>
  (_, except) =>
    void except.add(id)
const empty =
  (id: string): Step =>
  (claims, except) => {
    except.delete(id)
    claims.opened(id)
  }
const skip =
  (...ids: string[]): Step =>
  (claims) =>
    claims.skip(ids)

describe('the claim loop', () => {
  it.each<[string, boolean, Step[]]>([
    ['is idle at first', false, []],
    ['is due when a delivery was committed without a claim', true, [committedElsewhere]],
    ['is idle after a slot became free', false, [slotFreed]],
    ['is not due while a claim runs', false, [begin, committedElsewhere, slotFreed]],
    ['is idle after a claim that found nothing', false, [committedElsewhere, begin, end(0)]],
    ['is idle after a claim below every bound', false, [begin, end(99)]],
    ['is due after a claim that reached a bound', true, [begin, end(100)]],
    ['is due after a claim that missed a commit', true, [begin, committedElsewhere, end(0)]],
    ['is idle while a skipped webhook is full', false, [fill('a'), skip('a')]],
    ['is due when a skipped webhook has room', true, [fill('a'), skip('a'), empty('a')]],
    ['is due when a skipped webhook had room before', true, [fill('a'), empty('a'), skip('a')]],
    ['is idle when another webhook has room', false, [fill('a'), fill('b'), skip('a'), empty('b')]],
    [
      'is due when a webhook has room that a claim excepted',
      true,
      [fill('a'), begin, end(0), empty('a')],
    ],
    [
      'is due when a webhook got room during the claim that excepted it',
      true,
      [fill('a'), begin, empty('a'), end(0)],
    ],
    [
      'forgets at a claim what was due before',
      false,
      [fill('a'), skip('a'), empty('a'), begin, end(0)],
    ],
  ])('%s', (_, isDue, steps) => {
    const except = new Set<string>()
    const claims = new ClaimState({ prefetch: PREFETCH }, { ...held, except })
    for (const step of steps) step(claims, except)
    expect(claims.isDue).toBe(isDue)
  })

  it.each([
    [255, true],
    [256, false],
  ])('is due with %i of 512 waiting: %s', (waiting, isDue) => {
    const claims = new ClaimState({ prefetch: PREFETCH }, { ...held, waiting })
    claims.found()
    expect(claims.isDue).toBe(isDue)
  })

  it.each([
    ['no slot', false, [begin]],
    ['a slot', true, [begin, slotFreed]],
    ['a slot before it', false, [slotFreed, begin]],
  ])('says after a claim that %s became free: %s', (_, hasSlot, steps) => {
    const claims = new ClaimState({ prefetch: PREFETCH }, held)
    for (const step of steps) step(claims, held.except)
    expect(claims.end(claims.bounds, 0)).toBe(hasSlot)
  })
})

describe('the bounds of a claim', () => {
  it.each([
    ['nothing is held', { room: 512 }, { limit: 512, retries: 384 }],
    ['retries wait', { waitingRetries: 300 }, { limit: 100, retries: 84 }],
    ['retries have their share', { room: 9, waitingRetries: 400 }, { limit: 9, retries: 0 }],
  ])('when %s', (_, change, expected) => {
    const claims = new ClaimState({ prefetch: PREFETCH }, { ...held, ...change })
    expect(claims.bounds).toEqual({ perWebhook: 128, perProject: 128, ...expected })
  })

  it('that ask for no retries leave more due', () => {
    const claims = new ClaimState({ prefetch: PREFETCH }, { ...held, waitingRetries: 400 })
    claims.begin()
    claims.end(claims.bounds, 0)
    expect(claims.isDue).toBe(true)
  })
})
