import { isInterrupted, type Outcome } from './delivery.js'
import type { UnreachableError } from '../values/unreachable-error.js'
import type { Instant } from '../values/instant.js'
import { verdictOn } from './webhook-limit.js'

/**
 * The recent results of a webhook's attempts. `failingSince` is the first failure after the last
 * success. Failures among successes are stored about every ten seconds, so that a receiver that
 * refuses some requests does not cause a write per answer.
 */
export type WebhookHealth = {
  /** Failed attempts since the last accepted one. */
  readonly consecutiveFailures: number
  /** The first of these failures. */
  readonly failingSince?: Instant
  /** The times are exact to about ten seconds. */
  readonly lastSuccessAt?: Instant
  readonly lastFailureAt?: Instant
  /** Whether the webhook is sent to. */
  readonly circuit: Circuit
  /** The `failingSince` of a `webhook.failing` that no `webhook.recovered` has followed. */
  readonly reportedFailingSince?: Instant
}

/**
 * An open circuit sends nothing until `until`. After that it is half-open: one delivery is sent as
 * a probe, and `until` becomes the end of its lease. So only one process probes, and a lost probe
 * is repeated. `trips` counts the openings since the circuit was closed. Each one is longer.
 */
export type Circuit =
  | { readonly kind: 'closed' }
  | { readonly kind: 'open'; readonly until: Instant; readonly trips: number }

/**
 * The circuit opens after `openFailures` failures in a row that took `openAfterMs` or longer. It
 * stays open for `openMs`, doubled at each further trip. Jitter only lengthens.
 */
export type WebhookHealthPolicy = {
  readonly openFailures: number
  readonly openAfterMs: number
  readonly openMs: number
  readonly longestOpenMs: number
  readonly jitter: number
  readonly maxRetryAfterMs: number
  /**
   * A webhook that fails for this long, and at least `disableFailures` times in a row, is
   * disabled.
   */
  readonly disableAfterMs: number
  readonly disableFailures: number
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

export const defaultWebhookHealthPolicy: WebhookHealthPolicy = {
  openFailures: 15,
  openAfterMs: 10 * SECOND,
  openMs: 5 * SECOND,
  longestOpenMs: 5 * MINUTE,
  jitter: 0.2,
  maxRetryAfterMs: 24 * HOUR,
  disableAfterMs: 120 * HOUR,
  disableFailures: 10,
}

export const untried: WebhookHealth = { consecutiveFailures: 0, circuit: { kind: 'closed' } }

/** The health after a person enables the webhook: no failures count, and one probe goes first. */
export const resumed = (
  { failingSince: _, ...health }: WebhookHealth,
  now: Instant,
): WebhookHealth => ({
  ...health,
  consecutiveFailures: 0,
  circuit: { kind: 'open', until: now, trips: 0 },
})

/**
 * The health after a person asks for an attempt: an open circuit becomes half-open, and its trips
 * still count.
 */
export const readyToProbe = (health: WebhookHealth, now: Instant): WebhookHealth =>
  health.circuit.kind === 'open' && health.circuit.until > now
    ? { ...health, circuit: { ...health.circuit, until: now } }
    : health

/** The health while a probe runs: no other delivery is sent before the probe's lease ends. */
export const heldByProbe = (
  { circuit, ...health }: WebhookHealth,
  until: Instant,
): WebhookHealth => ({
  ...health,
  circuit: circuit.kind === 'open' ? { ...circuit, until } : circuit,
})

export type CircuitState = 'closed' | 'open' | 'half_open'
export function circuitAt({ circuit }: WebhookHealth, now: Instant): CircuitState {
  if (circuit.kind === 'closed') return 'closed'
  return circuit.until > now ? 'open' : 'half_open'
}

/** An attempt, with the failures that its process has not reported yet. */
export type WebhookAttempt = {
  readonly outcome: Outcome
  /** Set if the attempt was the circuit's probe: the end of its claim, which holds the circuit. */
  readonly probeUntil?: Instant
  /** Failures since the last report or the last success, this one included. */
  readonly failures: number
  readonly failingSince: Instant
  /** True if the `Retry-After` of the answer holds for all deliveries. */
  readonly pauses: boolean
  /** True if the event of the delivery reports a failing webhook. */
  readonly isReport: boolean
}
/** The part of a webhook that its health decision reads. */
type HealthOwner = {
  readonly health: WebhookHealth
  readonly status: { readonly kind: 'enabled' | 'disabled' }
  readonly disableOnGone: boolean
  readonly hook?: object | undefined
}

/** With `report`, the commit has an event: the circuit opened or is closed again. */
export type HealthDecision = {
  readonly health: WebhookHealth
  readonly report?: 'failing' | 'recovered'
  readonly disable?: 'failing' | 'gone'
}

const FRESH_MS = 10 * SECOND
const OUR_FAULTS: ReadonlySet<UnreachableError> = new Set(['unsealable_secret', 'interrupted'])

/**
 * Decides a webhook's health after an attempt. Returns undefined if nothing is worth a write:
 * another success of a healthy webhook, or an error of the service, such as a secret that cannot
 * be decrypted. A probe that the service interrupted makes the circuit half-open again.
 *
 * A circuit that opens is reported once, until a probe closes it. If the failed delivery is itself
 * a report, the next failed probe of another event reports the circuit. So webhooks that fail in
 * turns do not report each other without end.
 */
export function decideWebhookHealth(
  { health, status, disableOnGone, hook }: HealthOwner,
  attempt: WebhookAttempt,
  policy: WebhookHealthPolicy,
  now: Instant,
  random: number,
): HealthDecision | undefined {
  const { outcome, failures } = attempt
  if (outcome.kind === 'accepted')
    return isFresh({ health, hook }, attempt, now) ? undefined : afterSuccess(health, attempt, now)
  if (isInterrupted(outcome)) return releasedProbe(health, attempt, now)
  if (outcome.kind === 'unreachable' && OUR_FAULTS.has(outcome.error)) return undefined
  const since = health.failingSince ?? Math.max(attempt.failingSince, health.lastSuccessAt ?? 0)
  // A clock that was set back must not delay the circuit.
  const failingSince = Math.min(now, since)
  const failed = {
    ...health,
    consecutiveFailures: health.consecutiveFailures + failures,
    failingSince,
    lastFailureAt: now,
  }
  const isSustained =
    failed.consecutiveFailures >= policy.openFailures && now - failingSince >= policy.openAfterMs
  const circuit = circuitAfterFailure(health.circuit, attempt, isSustained, policy, now, random)
  const next = { ...failed, circuit }
  // Hooks share this health. Nobody could enable them again.
  if (status.kind === 'disabled' || hook) return { health: next }
  const decision = isNewlyFailing(health, next, attempt)
    ? ({ health: { ...next, reportedFailingSince: failingSince }, report: 'failing' } as const)
    : { health: next }
  if (disableOnGone && outcome.kind === 'refused' && outcome.statusCode === 410)
    return { ...decision, disable: 'gone' }
  const isGivenUp =
    next.consecutiveFailures >= policy.disableFailures &&
    now - failingSince >= policy.disableAfterMs
  return isGivenUp ? { ...decision, disable: 'failing' } : decision
}

/** True if the attempt opens the circuit, which no event has reported yet. */
const isNewlyFailing = (
  before: WebhookHealth,
  after: WebhookHealth,
  { probeUntil, isReport }: WebhookAttempt,
): boolean =>
  after.circuit.kind === 'open' &&
  (before.circuit.kind === 'closed' || probeUntil !== undefined) &&
  after.reportedFailingSince === undefined &&
  !isReport

type Probing = Pick<WebhookAttempt, 'probeUntil'>

const isFresh = (
  {
    health: { circuit, consecutiveFailures, lastSuccessAt },
    hook,
  }: Pick<HealthOwner, 'health' | 'hook'>,
  { probeUntil }: Probing,
  now: Instant,
): boolean =>
  (circuit.kind === 'closed' || probeUntil === undefined) &&
  consecutiveFailures === 0 &&
  // Nothing shows when a hook succeeded.
  (hook !== undefined || (lastSuccessAt !== undefined && now - lastSuccessAt < FRESH_MS))

/**
 * A success of an earlier attempt does not close an open circuit, because the receiver can have
 * asked for a pause since.
 */
function afterSuccess(
  { failingSince: _, reportedFailingSince: reported, ...health }: WebhookHealth,
  { probeUntil }: Probing,
  now: Instant,
): HealthDecision {
  const next = { ...health, consecutiveFailures: 0, lastSuccessAt: now }
  if (probeUntil !== undefined)
    return {
      health: { ...next, circuit: { kind: 'closed' } },
      ...(reported !== undefined && { report: 'recovered' }),
    }
  return { health: { ...next, ...(reported !== undefined && { reportedFailingSince: reported }) } }
}

/** Returns undefined if the circuit waits for another reason since. */
const releasedProbe = (
  health: WebhookHealth,
  { probeUntil }: Probing,
  now: Instant,
): HealthDecision | undefined =>
  health.circuit.kind === 'open' && health.circuit.until === probeUntil
    ? { health: readyToProbe(health, now) }
    : undefined

function circuitAfterFailure(
  circuit: Circuit,
  { outcome, probeUntil, pauses }: WebhookAttempt,
  isSustained: boolean,
  policy: WebhookHealthPolicy,
  now: Instant,
  random: number,
): Circuit {
  const isProbe = probeUntil !== undefined
  const retryAfter = pauses || isProbe ? Math.min(retryAfterOf(outcome), policy.maxRetryAfterMs) : 0
  // An earlier attempt adds nothing, except a later time to retry.
  if (circuit.kind === 'open' && !isProbe)
    return { ...circuit, until: Math.max(circuit.until, now + retryAfter) }
  if (circuit.kind === 'closed' && !isSustained)
    return retryAfter > 0 ? { kind: 'open', until: now + retryAfter, trips: 0 } : circuit
  const trips = circuit.kind === 'open' ? circuit.trips + 1 : 1
  const open =
    Math.min(policy.openMs * 2 ** (trips - 1), policy.longestOpenMs) * (1 + policy.jitter * random)
  return { kind: 'open', until: now + Math.max(Math.round(open), retryAfter), trips }
}

/** The time for which the receiver asks. 0: it does not ask. */
export const retryAfterOf = (outcome: Outcome): number =>
  outcome.kind === 'refused' && verdictOn(outcome) === 'refused' ? (outcome.retryAfterMs ?? 0) : 0
