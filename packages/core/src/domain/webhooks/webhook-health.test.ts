import { describe, expect, it } from 'vitest'
import type { Outcome } from './delivery.js'
import {
  circuitAt,
  decideWebhookHealth,
  defaultWebhookHealthPolicy,
  heldByProbe,
  readyToProbe,
  resumed,
  untried,
  type WebhookHealth,
} from './webhook-health.js'

const NOW = 1_000_000_000
const DAY = 86_400_000
/** The end of a probe's claim. */
const HELD = NOW + 30_000
const policy = defaultWebhookHealthPolicy
const accepted: Outcome = { kind: 'accepted', statusCode: 200, responseBody: '' }
const refused = (statusCode = 500, retryAfterMs?: number): Outcome => ({
  ...{ kind: 'refused', statusCode, responseBody: '' },
  ...(retryAfterMs !== undefined && { retryAfterMs }),
})
const unreachable = { kind: 'unreachable', error: 'timeout', detail: '' } as const
const enabled = { status: { kind: 'enabled' }, disableOnGone: false } as const

const after = (
  health: WebhookHealth,
  outcome: Outcome,
  {
    isProbe = false,
    now = NOW,
    random = 0,
    disableOnGone = false,
    failures = 1,
    pauses = false,
    probeUntil = HELD,
    failingSince = 0,
    isReport = false,
  } = {},
) =>
  decideWebhookHealth(
    { ...enabled, health, disableOnGone },
    {
      outcome,
      failures,
      failingSince: failingSince || now,
      pauses,
      isReport,
      ...(isProbe && { probeUntil }),
    },
    policy,
    now,
    random,
  )

const failed = (consecutiveFailures: number, more: Partial<WebhookHealth> = {}): WebhookHealth => ({
  ...{
    consecutiveFailures,
    failingSince: NOW - 1,
    lastFailureAt: NOW - 1,
    circuit: { kind: 'closed' },
  },
  ...more,
})
const open = (until: number, trips = 1) => ({ kind: 'open', until, trips }) as const

describe('a success', () => {
  it('of a probe ends all failures and closes the circuit', () => {
    expect(
      after(failed(7, { circuit: open(NOW + 1) }), accepted, { isProbe: true })?.health,
    ).toEqual({
      ...{
        consecutiveFailures: 0,
        lastSuccessAt: NOW,
        lastFailureAt: NOW - 1,
        circuit: { kind: 'closed' },
      },
    })
  })
  it('that was under way when the circuit opened does not cut short the time that the receiver asked for', () => {
    const told = after(untried, refused(429, 120_000), { pauses: true })?.health ?? untried
    const late = after(told, accepted, { now: NOW + 5 })?.health
    expect(late).toEqual({
      consecutiveFailures: 0,
      lastSuccessAt: NOW + 5,
      lastFailureAt: NOW,
      circuit: open(NOW + 120_000, 0),
      reportedFailingSince: NOW,
    })
    expect(after(late ?? untried, accepted, { now: NOW + 6 })).toBeUndefined()
  })
  it('is noted for a webhook that was never tried, and then every ten seconds', () => {
    const first = after(untried, accepted)?.health ?? untried
    expect(first).toEqual({
      consecutiveFailures: 0,
      lastSuccessAt: NOW,
      circuit: { kind: 'closed' },
    })
    expect(after(first, accepted, { now: NOW + 9_999 })).toBeUndefined()
    expect(after(first, accepted, { now: NOW + 10_000 })?.health.lastSuccessAt).toBe(NOW + 10_000)
  })
  it('is stored at once when it ends a failure or an open circuit', () => {
    expect(after(failed(1, { lastSuccessAt: NOW }), accepted)?.health.consecutiveFailures).toBe(0)
    const probed = after({ ...untried, lastSuccessAt: NOW, circuit: open(NOW) }, accepted, {
      isProbe: true,
    })
    expect(probed?.health.circuit.kind).toBe('closed')
  })
})

describe('a failure', () => {
  it('is counted, from the first one on', () => {
    const first = after({ ...untried, lastSuccessAt: 5 }, unreachable)?.health
    expect(first).toEqual({
      consecutiveFailures: 1,
      failingSince: NOW,
      lastSuccessAt: 5,
      lastFailureAt: NOW,
      circuit: { kind: 'closed' },
    })
    const second = after(first ?? untried, refused(), { now: NOW + 9 })?.health
    expect(second).toMatchObject({
      consecutiveFailures: 2,
      failingSince: NOW,
      lastFailureAt: NOW + 9,
    })
  })
  it('opens the circuit when nothing succeeded for a while, a little longer by jitter', () => {
    const since = { failingSince: NOW - 10_000 }
    expect(after(failed(13, since), unreachable)?.health.circuit).toEqual({ kind: 'closed' })
    expect(after(failed(14, since), unreachable)?.health.circuit).toEqual(open(NOW + 5_000))
    expect(after(failed(9, since), unreachable, { failures: 6 })?.health.circuit).toEqual(
      open(NOW + 5_000),
    )
    expect(after(failed(14, since), refused(410), { random: 0.5 })?.health.circuit).toEqual(
      open(NOW + 5_500),
    )
  })
  it('leaves the circuit closed, however many there are in a short time', () => {
    const since = { failingSince: NOW - 9_999 }
    expect(after(failed(999, since), unreachable)?.health.circuit).toEqual({ kind: 'closed' })
  })
  it('is counted from the last success of any process on', () => {
    const health = { ...untried, lastSuccessAt: NOW - 5 }
    const attempt = { failures: 3, failingSince: NOW - 9 }
    expect(after(health, unreachable, attempt)?.health).toMatchObject({
      consecutiveFailures: 3,
      failingSince: NOW - 5,
    })
  })
  it('counts from now on if its clock was set back', () => {
    const later = NOW + 3_600_000
    for (const health of [failed(3, { failingSince: later }), { ...untried, lastSuccessAt: later }])
      expect(after(health, unreachable)?.health.failingSince).toBe(NOW)
  })
  it('of a probe opens it again for twice as long, up to five minutes', () => {
    const probe = { isProbe: true }
    expect(
      after(failed(9, { circuit: open(NOW + 30_000) }), unreachable, probe)?.health.circuit,
    ).toEqual(open(NOW + 10_000, 2))
    expect(after(failed(9, { circuit: open(NOW, 3) }), unreachable, probe)?.health.circuit).toEqual(
      open(NOW + 40_000, 4),
    )
    expect(
      after(failed(9, { circuit: open(NOW, 60) }), unreachable, probe)?.health.circuit,
    ).toEqual(open(NOW + 300_000, 61))
  })
  it('that was under way when the circuit opened changes nothing about it', () => {
    expect(after(failed(5, { circuit: open(NOW + 4_000) }), unreachable)?.health.circuit).toEqual(
      open(NOW + 4_000),
    )
  })
  it.each([429, 502, 503, 504])('of %i alone does not open it', (status) => {
    expect(after(untried, refused(status))?.health.circuit).toEqual({ kind: 'closed' })
    expect(after(untried, refused(status, 60_000))?.health.circuit).toEqual({ kind: 'closed' })
  })
  it('that pauses the webhook leaves the receiver alone for as long, up to a day', () => {
    const pauses = true
    const circuitAfter = (outcome: Outcome, health = untried) =>
      after(health, outcome, { pauses })?.health.circuit
    expect(circuitAfter(refused(429, 120_000))).toEqual(open(NOW + 120_000, 0))
    expect(circuitAfter(refused(429, 1_000))).toEqual(open(NOW + 1_000, 0))
    expect(circuitAfter(refused(503, 9 * DAY))).toEqual(open(NOW + DAY, 0))
    const opened = failed(5, { circuit: open(NOW + 4_000) })
    expect(circuitAfter(refused(503, 60_000), opened)).toEqual(open(NOW + 60_000))
    expect(circuitAfter(refused(500, 60_000))).toEqual({ kind: 'closed' })
  })
  it('of a probe counts its Retry-After', () => {
    const health = failed(9, { circuit: open(NOW, 0) })
    expect(after(health, refused(429, 60_000), { isProbe: true })?.health.circuit).toEqual(
      open(NOW + 60_000, 1),
    )
  })
  it.each(['unsealable_secret', 'interrupted'] as const)(
    'that is our own, %s, counts for nothing',
    (error) => {
      expect(after(failed(99), { kind: 'unreachable', error, detail: '' })).toBeUndefined()
    },
  )
})

describe('a probe that the service interrupted', () => {
  const interrupted = { kind: 'unreachable', error: 'interrupted', detail: '' } as const

  it('makes the circuit half-open at once, and counts for nothing', () => {
    const health = failed(9, { circuit: open(HELD, 3) })
    expect(after(health, interrupted, { isProbe: true })?.health).toEqual({
      ...health,
      circuit: open(NOW, 3),
    })
  })
  it('changes nothing if the circuit waits for another reason since', () => {
    const health = failed(9, { circuit: open(HELD + 1, 3) })
    expect(after(health, interrupted, { isProbe: true })).toBeUndefined()
  })
})

describe('a webhook is disabled', () => {
  it('after five days of nothing but failure, ten of them at least', () => {
    const since = { failingSince: NOW - 5 * DAY }
    expect(after(failed(9, since), unreachable)?.disable).toBe('failing')
    expect(after(failed(8, since), unreachable)?.disable).toBeUndefined()
    expect(
      after(failed(50, { failingSince: NOW - 5 * DAY + 1 }), unreachable)?.disable,
    ).toBeUndefined()
  })
  it('by a 410, with disableOnGone', () => {
    expect(after(untried, refused(410), { disableOnGone: true })).toMatchObject({
      disable: 'gone',
      health: { consecutiveFailures: 1 },
    })
    expect(after(untried, refused(410))?.disable).toBeUndefined()
    expect(after(untried, refused(404), { disableOnGone: true })?.disable).toBeUndefined()
    expect(after(untried, unreachable, { disableOnGone: true })?.disable).toBeUndefined()
  })
  it('once: later failures are only counted', () => {
    const status = { kind: 'disabled', reason: 'operator', at: 0 } as const
    const webhook = { disableOnGone: true, status, health: failed(99, { failingSince: 0 }) }
    const decision = decideWebhookHealth(
      webhook,
      { outcome: refused(410), failures: 1, failingSince: NOW, pauses: false, isReport: false },
      policy,
      NOW,
      0,
    )
    expect(decision).toMatchObject({ health: { consecutiveFailures: 100 } })
    expect(decision).not.toHaveProperty('disable')
  })
})

describe('the report of a circuit', () => {
  const since = NOW - 10_000
  const last = failed(14, { failingSince: since })
  const reported = { reportedFailingSince: since }
  const opened = failed(15, { failingSince: since, circuit: open(HELD), ...reported })
  const probe = { isProbe: true }

  it('is made by the failure that opens it, and by no later one', () => {
    const opening = after(last, unreachable)
    expect(opening).toMatchObject({ report: 'failing', health: reported })
    const { health = untried } = opening ?? {}
    expect(after(last, unreachable, { failingSince: since })?.report).toBe('failing')
    for (const later of [after(health, unreachable), after(health, unreachable, probe)])
      expect(later).toMatchObject({ health: reported })
    expect(after(health, unreachable)).not.toHaveProperty('report')
    expect(after(health, unreachable, probe)).not.toHaveProperty('report')
    expect(after(failed(13, { failingSince: since }), unreachable)).not.toHaveProperty('report')
    expect(after(untried, refused(429, 1_000), { pauses: true })?.report).toBe('failing')
  })
  it('is made by the probe that closes it, and not by an earlier success', () => {
    expect(after(opened, accepted)?.health).toMatchObject({ circuit: open(HELD), ...reported })
    expect(after(opened, accepted)).not.toHaveProperty('report')
    const closing = after(opened, accepted, probe)
    expect(closing?.report).toBe('recovered')
    expect(closing?.health).not.toHaveProperty('reportedFailingSince')
    const unreported = failed(15, { circuit: open(HELD) })
    expect(after(unreported, accepted, probe)).not.toHaveProperty('report')
  })
  it('waits for a failed probe of another event if the failed delivery is a report', () => {
    const silent = after(last, unreachable, { isReport: true })
    expect(silent?.health.circuit.kind).toBe('open')
    expect(silent).not.toHaveProperty('report')
    const { health = untried } = silent ?? {}
    expect(after(health, unreachable, { ...probe, isReport: true })).not.toHaveProperty('report')
    expect(after(health, unreachable)).not.toHaveProperty('report')
    expect(after(health, unreachable, probe)?.report).toBe('failing')
    expect(after(opened, accepted, { ...probe, isReport: true })?.report).toBe('recovered')
  })
  it('is also made after an operator’s enabling, and stands beside a disabling', () => {
    expect(after(resumed(opened, NOW), accepted, probe)?.report).toBe('recovered')
    expect(after(resumed(opened, NOW), unreachable, probe)).not.toHaveProperty('report')
    expect(after(resumed(untried, NOW), accepted, probe)).not.toHaveProperty('report')
    expect(after(resumed(untried, NOW), unreachable, probe)?.report).toBe('failing')
    const gone = { ...probe, disableOnGone: true }
    expect(after(resumed(untried, NOW), refused(410), gone)).toMatchObject({
      report: 'failing',
      disable: 'gone',
    })
  })
})

describe('a circuit', () => {
  it('is open until its time, and half-open from then on', () => {
    expect(circuitAt(untried, NOW)).toBe('closed')
    expect(circuitAt({ ...untried, circuit: open(NOW + 1) }, NOW)).toBe('open')
    expect(circuitAt({ ...untried, circuit: open(NOW) }, NOW)).toBe('half_open')
  })
  it('is held open by a probe', () => {
    expect(heldByProbe({ ...untried, circuit: open(NOW, 3) }, NOW + 9).circuit).toEqual(
      open(NOW + 9, 3),
    )
    expect(heldByProbe(untried, NOW + 9)).toEqual(untried)
  })
  it('becomes half-open when an operator asks for an attempt', () => {
    expect(readyToProbe({ ...untried, circuit: open(NOW + 9, 3) }, NOW).circuit).toEqual(
      open(NOW, 3),
    )
    expect(readyToProbe({ ...untried, circuit: open(NOW - 9) }, NOW).circuit).toEqual(open(NOW - 9))
    expect(readyToProbe(untried, NOW)).toEqual(untried)
  })
  it('is half-open after an operator’s enabling, and no failure counts', () => {
    const { lastFailureAt, ...never } = resumed({ ...failed(40), lastSuccessAt: 5 }, NOW)
    expect(never).toEqual({ consecutiveFailures: 0, lastSuccessAt: 5, circuit: open(NOW, 0) })
    expect(lastFailureAt).toBe(NOW - 1)
    expect(resumed(untried, NOW)).toEqual({ consecutiveFailures: 0, circuit: open(NOW, 0) })
    expect(after(resumed(untried, NOW), unreachable, { isProbe: true })?.health.circuit).toEqual(
      open(NOW + 5_000, 1),
    )
  })
})

it('hooks are neither reported nor disabled, because they share a health', () => {
  const attempt = { outcome: unreachable, failures: 1, failingSince: 1, pauses: false }
  const hook = { messageId: 'm' }
  const health = failed(40, { failingSince: NOW - 6 * DAY })
  const owner = { ...enabled, disableOnGone: true, health, hook }
  const decision = decideWebhookHealth(owner, { ...attempt, isReport: false }, policy, NOW, 0)
  expect(Object.keys(decision ?? {})).toEqual(['health'])
  expect(decision?.health.circuit).toEqual({ kind: 'open', until: NOW + 5_000, trips: 1 })
})
