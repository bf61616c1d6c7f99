import type { Outcome } from '../domain/webhooks/delivery.js'
import type { Webhook } from '../domain/webhooks/webhook.js'
import type { Instant } from '../domain/values/instant.js'
import { retryAfterOf, type WebhookAttempt } from '../domain/webhooks/webhook-health.js'
import { verdictOn } from '../domain/webhooks/webhook-limit.js'

/** Failures with a success this shortly before are no reason for a write. */
const QUIET_MS = 1_000
/** One of them is reported after this time, so that the webhook shows its last failure. */
const NEWS_MS = 10_000
/** Failures in a row that are each reported. After them, one is reported per `NEXT_MS`. */
const EACH = 20
const NEXT_MS = 100
/** The weight of an attempt falls to this share at each later one: about 20 attempts count. */
const KEPT = 0.95
/** A share of refusals from which a `Retry-After` holds for all deliveries. */
const HIGH_SHARE = 0.5
/** Requests for time without a success that hold for all deliveries are this far apart. */
const ASKED_MS = 1_000

/** `isNews`: the store must see the attempt. `failingSince` is in elapsed time. */
type Report = Omit<WebhookAttempt, 'probeUntil' | 'isReport'> & { readonly isNews: boolean }

/**
 * The attempts of one webhook by this process, as far as the webhook's health needs them. Decides
 * which attempts the store must see: a share of failures must not cause a write per failure.
 */
export class RecentAttempts {
  #succeededAt: Instant = -Infinity
  #reportedAt: Instant = -Infinity
  /** Failures since the last success, and the ones that the store has not seen. */
  #failures = 0
  #unreported = 0
  #failingSince: Instant | undefined
  /** The store counts failures that a success must reset. */
  #isReportedFailing = false
  /** The first `Retry-After` since the last success. */
  #askedAt: Instant | undefined
  #attempts = 0
  #refusals = 0
  /** The last success that the store was asked to keep. */
  #keptSuccessAt: Instant = -Infinity

  /** `now` is in elapsed time. With `mustReport` a failure is always news. */
  note(outcome: Outcome, now: Instant, mustReport: boolean): Report {
    const verdict = verdictOn(outcome)
    if (verdict === undefined) return this.#reportOf(outcome, now, { isNews: mustReport })
    this.#attempts = this.#attempts * KEPT + 1
    this.#refusals = this.#refusals * KEPT + (verdict === 'refused' ? 1 : 0)
    return verdict === 'accepted'
      ? this.#noteSuccess(outcome, now)
      : this.#noteFailure(outcome, now, mustReport)
  }

  /**
   * Returns the webhook with the last kept success, if the webhook had a success before. A webhook
   * from a cache can have an earlier one.
   */
  withKeptSuccess(webhook: Webhook): Webhook {
    const { health } = webhook
    const { lastSuccessAt = Infinity } = health
    return lastSuccessAt < this.#keptSuccessAt
      ? { ...webhook, health: { ...health, lastSuccessAt: this.#keptSuccessAt } }
      : webhook
  }

  keepSuccess(at: Instant): void {
    this.#keptSuccessAt = at
  }

  #noteSuccess(outcome: Outcome, now: Instant): Report {
    const isNews = this.#isReportedFailing
    this.#isReportedFailing = false
    this.#succeededAt = now
    this.#failures = 0
    this.#unreported = 0
    this.#failingSince = undefined
    this.#askedAt = undefined
    return this.#reportOf(outcome, now, { isNews })
  }

  #noteFailure(outcome: Outcome, now: Instant, mustReport: boolean): Report {
    this.#failures++
    this.#unreported++
    this.#failingSince ??= now
    const pauses = retryAfterOf(outcome) > 0 && this.#pauses(now)
    const isNews = mustReport || pauses || this.#isFailureNews(now)
    const report = this.#reportOf(outcome, now, { isNews, pauses })
    if (!isNews) return report
    this.#reportedAt = now
    this.#isReportedFailing = true
    this.#unreported = 0
    return report
  }

  #isFailureNews(now: Instant): boolean {
    const sinceReport = now - this.#reportedAt
    if (now - this.#succeededAt < QUIET_MS) return sinceReport >= NEWS_MS
    return this.#failures <= EACH || sinceReport >= NEXT_MS
  }

  #pauses(now: Instant): boolean {
    this.#askedAt ??= now
    return this.#refusals >= HIGH_SHARE * this.#attempts || now - this.#askedAt >= ASKED_MS
  }

  #reportOf(
    outcome: Outcome,
    now: Instant,
    { isNews, pauses = false }: { isNews: boolean; pauses?: boolean },
  ): Report {
    const failingSince = this.#failingSince ?? now
    return { outcome, failures: this.#unreported, failingSince, pauses, isNews }
  }
}
