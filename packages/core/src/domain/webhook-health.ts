import type { Outcome, UnreachableError } from './delivery.js'
import type { Instant } from './instant.js'

/** What a webhook's attempts came to of late. `failingSince`: its first failure after its last success. */
export type WebhookHealth = {
  readonly consecutiveFailures: number
  readonly failingSince?: Instant
  /** Exact to about ten seconds, so that a receiver that answers is not written down at each answer. */
  readonly lastSuccessAt?: Instant
  readonly lastFailureAt?: Instant
  readonly circuit: Circuit
}

/**
 * Open: nothing is sent until `until`. From then on it is half-open: one delivery goes out as a probe, and `until` becomes
 * the end of its lease, so that nobody else probes and a probe whose process died is made again. `trips` counts the
 * openings since it was closed last: each is longer than the one before.
 */
export type Circuit =
  | { readonly kind: 'closed' }
  | { readonly kind: 'open'; readonly until: Instant; readonly trips: number }

/** From the `failures`-th failure in a row the circuit opens, for `openMs` × 2 at each further trip, jitter upwards only. */
export type WebhookHealthPolicy = {
  readonly failures: number
  readonly openMs: number
  readonly longestOpenMs: number
  readonly jitter: number
  readonly maxRetryAfterMs: number
  /** Nothing but failure for so long, and so often at least, disables the webhook. */
  readonly disableAfterMs: number
  readonly disableFailures: number
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

export const defaultWebhookHealthPolicy: WebhookHealthPolicy = {
  failures: 5,
  openMs: 5 * SECOND,
  longestOpenMs: 5 * MINUTE,
  jitter: 0.2,
  maxRetryAfterMs: 24 * HOUR,
  disableAfterMs: 120 * HOUR,
  disableFailures: 10,
}

export const untried: WebhookHealth = { consecutiveFailures: 0, circuit: { kind: 'closed' } }

/** As an operator's enabling leaves it: no failure counts any more, and one probe goes before the rest. */
export const resumed = (
  { lastSuccessAt, lastFailureAt }: WebhookHealth,
  now: Instant,
): WebhookHealth => ({
  consecutiveFailures: 0,
  ...(lastSuccessAt !== undefined && { lastSuccessAt }),
  ...(lastFailureAt !== undefined && { lastFailureAt }),
  circuit: { kind: 'open', until: now, trips: 0 },
})

/** Somebody asks for a try now: an open circuit becomes half-open. Its trips still count. */
export const readyToProbe = (health: WebhookHealth, now: Instant): WebhookHealth =>
  health.circuit.kind === 'open' && health.circuit.until > now
    ? { ...health, circuit: { ...health.circuit, until: now } }
    : health

/** A probe is under way, and nobody else sends anything before its lease ends. */
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

export type WebhookAttempt = {
  readonly outcome: Outcome
  /** The circuit was not closed when it was claimed. */
  readonly isProbe: boolean
}
/** The part of a webhook that its health decision reads. */
type HealthOwner = {
  readonly health: WebhookHealth
  readonly status: { readonly kind: 'enabled' | 'disabled' }
  readonly disableOnGone: boolean
}

export type HealthDecision = {
  readonly health: WebhookHealth
  readonly disable?: 'failing' | 'gone'
}

const FRESH_MS = 10 * SECOND
const OUR_FAULTS: ReadonlySet<UnreachableError> = new Set(['unsealable_secret', 'interrupted'])

/**
 * What an attempt makes of its webhook as it is now; undefined when nothing is worth a write: one more success of a healthy
 * webhook, and a secret that we cannot decrypt or a thread of ours that ended, which is our fault and none of the receiver's.
 */
export function decideWebhookHealth(
  { health, status, disableOnGone }: HealthOwner,
  attempt: WebhookAttempt,
  policy: WebhookHealthPolicy,
  now: Instant,
  random: number,
): HealthDecision | undefined {
  const { outcome } = attempt
  if (outcome.kind === 'accepted')
    return isFresh(health, attempt, now)
      ? undefined
      : { health: afterSuccess(health, attempt, now) }
  if (outcome.kind === 'unreachable' && OUR_FAULTS.has(outcome.error)) return undefined
  const { failingSince = now } = health
  const failed = {
    ...health,
    consecutiveFailures: health.consecutiveFailures + 1,
    failingSince,
    lastFailureAt: now,
  }
  const next = { ...failed, circuit: circuitAfterFailure(failed, attempt, policy, now, random) }
  if (status.kind === 'disabled') return { health: next }
  if (disableOnGone && outcome.kind === 'refused' && outcome.statusCode === 410)
    return { health: next, disable: 'gone' }
  const isGivenUp =
    next.consecutiveFailures >= policy.disableFailures &&
    now - failingSince >= policy.disableAfterMs
  return isGivenUp ? { health: next, disable: 'failing' } : { health: next }
}

type Probing = Pick<WebhookAttempt, 'isProbe'>

const isFresh = (
  { circuit, consecutiveFailures, lastSuccessAt }: WebhookHealth,
  { isProbe }: Probing,
  now: Instant,
): boolean =>
  (circuit.kind === 'closed' || !isProbe) &&
  consecutiveFailures === 0 &&
  lastSuccessAt !== undefined &&
  now - lastSuccessAt < FRESH_MS

/** A success that was under way when the circuit opened does not close it: the receiver may have named a time since. */
const afterSuccess = (
  { lastFailureAt, circuit }: WebhookHealth,
  { isProbe }: Probing,
  now: Instant,
): WebhookHealth => ({
  consecutiveFailures: 0,
  lastSuccessAt: now,
  ...(lastFailureAt !== undefined && { lastFailureAt }),
  circuit: isProbe ? { kind: 'closed' } : circuit,
})

function circuitAfterFailure(
  { circuit, consecutiveFailures }: WebhookHealth,
  { outcome, isProbe }: WebhookAttempt,
  policy: WebhookHealthPolicy,
  now: Instant,
  random: number,
): Circuit {
  const isSlow = asksToSlowDown(outcome)
  const retryAfter = isSlow ? Math.min(outcome.retryAfterMs ?? 0, policy.maxRetryAfterMs) : 0
  // What was under way when the circuit opened says nothing new, but for how long the receiver wants to be left alone.
  if (circuit.kind === 'open' && !isProbe)
    return { ...circuit, until: Math.max(circuit.until, now + retryAfter) }
  if (circuit.kind === 'closed' && !isSlow && consecutiveFailures < policy.failures) return circuit
  const trips = circuit.kind === 'open' ? circuit.trips + 1 : 1
  const open =
    Math.min(policy.openMs * 2 ** (trips - 1), policy.longestOpenMs) * (1 + policy.jitter * random)
  return { kind: 'open', until: now + Math.max(Math.round(open), retryAfter), trips }
}

const SLOW_DOWN: readonly number[] = [429, 502, 503, 504]

const asksToSlowDown = (outcome: Outcome): outcome is Extract<Outcome, { kind: 'refused' }> =>
  outcome.kind === 'refused' && SLOW_DOWN.includes(outcome.statusCode)
