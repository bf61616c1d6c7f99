import type { Instant } from '../domain/instant.js'
import type { LimitCeiling, LimitReason, Verdict, WebhookLimit } from '../domain/webhook-limit.js'
import { Pace } from './pace.js'
import { RequestWindow, type Sample, type WindowKind } from './request-window.js'

/** The slots of a new webhook: at most a quarter of all. */
const FIRST_SLOTS = 8
export const firstSlots = (all: number): number => Math.min(FIRST_SLOTS, Math.ceil(all / 4))
const SLOTS_AFTER_CIRCUIT = 2
/** A limit never goes below this, so that it can find out that its receiver recovered. */
const LEAST_PER_SECOND = 0.5
/** No process sends more than this. */
const MOST_PER_SECOND = 10_000
/** Growth after a cut: the first step as a share, doubled after each window without a reason. */
const FIRST_STEP = 0.5
const FAST_STEP = 0.25
const MOST_STEP = 0.5
const GROWTH = 1.5
/** Each step adds this too, so that processes come to equal shares. */
const STEP_PER_SECOND = 1
/** A cut leaves this share of the accepted rate, and a quarter of the rate at least. */
const AFTER_CUT = 0.95
const DEEPEST_CUT = 0.25
/** Refusals above the usual share that are tolerated. A cut below few would cost more than them. */
const TOLERATED = 0.02
const TOLERATED_PER_SECOND = 1.5
/**
 * A share that stays above this part of itself at a lower rate does not depend on the rate. A
 * receiver that has limited its rate before must show this more clearly.
 */
const PERSISTS = 0.65
const PERSISTS_PACED = 0.75
/**
 * A higher share is never taken for chance. Processes that flood one receiver together would see a
 * share that does not depend on the rate of each.
 */
const MOST_BY_CHANCE = 0.4
/** Latency rises if it is this many times the usual one, and by this many ms. */
const SLOWER = 1.5
const SLOWER_MS = 20
/** A trial repeats after this time, and soon if the latency rises. */
const TRIAL_EVERY_MS = 60_000
const TRIAL_AGAIN_MS = 10_000
/** A pace that held back no request for this long is forgotten. */
const UNUSED_MS = 60_000
/** A claimed delivery does not wait for longer than this for its pace: leases end. */
const MOST_PACED_SECONDS = 2
/** A pause of all requests for this long starts a new window. */
const IDLE_MS = 2_000

/** The end of a request. `startedAt` is the time of its call of `started`. */
export type Answer = {
  readonly verdict: Verdict
  readonly startedAt: Instant
  readonly latencyMs: number
}

/** A lower limit that is tried for one window. */
type Experiment = {
  /** `cut` follows the refusals. `trial` halves the rate, to see if that changes anything. */
  readonly kind: 'cut' | 'trial'
  /** The limit before the experiment. */
  readonly slots: number
  readonly perSecond: number
  /** The window that gave the reason. */
  readonly seen: Sample
}

/**
 * The limit of requests to one webhook by this process: slots, and a pace where refusals depend on
 * the rate. The limit grows while it is used and the receiver keeps up.
 *
 * A window whose refusals rise cuts the rate to the accepted rate: a receiver with a rate limit
 * shows its capacity so. If the share of refusals persists, one window at half of that rate tells
 * chance from capacity. Refusals by chance raise the usual share, and the earlier limit is back.
 * The same trial tells whether the latency depends on the concurrency.
 *
 * Pure: every method gets the time.
 */
export class AdaptiveLimit {
  /** The share of the settings. */
  ceiling: LimitCeiling = {}
  readonly #mostSlots: number
  readonly #pace = new Pace()
  #window: RequestWindow
  #slots: number
  #perSecond = Infinity
  #reason: LimitReason = 'growing'
  /** A rate that caused refusals. Growth goes half of the way to it, then slower. */
  #tooFast = Infinity
  #step = FAST_STEP
  /** Each accepted request adds a slot, until there is a reason against it. */
  #isStarting = true
  #experiment: Experiment | undefined
  /** The receiver accepted nothing, and has refused nothing since. */
  #isBlocked = false
  /** The share of refusals that does not depend on the rate. */
  #usualShare = 0
  /** The latency at a low concurrency. */
  #usualMs: number | undefined
  #triedAt: Instant
  #startedAt: Instant
  #pacedAt: Instant
  #inFlight = 0
  /** A delivery waits since the last start. */
  #isAsked = false

  constructor(mostSlots: number, now: Instant) {
    this.#mostSlots = mostSlots
    this.#slots = firstSlots(mostSlots)
    this.#window = new RequestWindow(now)
    this.#triedAt = now - TRIAL_EVERY_MS + TRIAL_AGAIN_MS
    this.#startedAt = now
    this.#pacedAt = now
  }

  /** The requests that can be in flight. */
  get slots(): number {
    return Math.min(Math.max(1, Math.floor(this.#slots)), this.ceiling.concurrency ?? Infinity)
  }

  get perSecond(): number {
    return Math.min(this.#perSecond, this.ceiling.requestsPerSecond ?? Infinity)
  }

  /** Deliveries to hold: two rounds of the slots, or as many as a pace sends in a second. */
  get room(): number {
    const rounds = 2 * this.slots
    if (this.perSecond === Infinity) return rounds
    const answeredPerSecond = this.#usualMs === undefined ? 0 : (1_000 * this.slots) / this.#usualMs
    const aSecond = Math.max(rounds, Math.min(this.perSecond, answeredPerSecond))
    return Math.max(1, Math.ceil(Math.min(aSecond, MOST_PACED_SECONDS * this.perSecond)))
  }

  /**
   * The time until a waiting delivery can start. 0: now. Infinity: a slot must be free first.
   * Call it only if a delivery waits, because a limit that is used grows.
   */
  waitMs(now: Instant): number {
    this.#window.wasBusy ||= this.#isAsked
    this.#isAsked = true
    if (this.#inFlight >= this.slots) {
      this.#window.wasFull ||= this.#slots <= (this.ceiling.concurrency ?? Infinity)
      return Infinity
    }
    const wait = this.#pace.waitMs(this.perSecond, now)
    if (wait > 0 && this.perSecond === this.#perSecond) {
      this.#window.wasPaced = true
      this.#pacedAt = now
    }
    return wait
  }

  started(now: Instant): void {
    if (this.#inFlight === 0 && now - this.#startedAt > IDLE_MS)
      this.#window = new RequestWindow(now)
    this.#inFlight++
    this.#isAsked = false
    this.#startedAt = now
    this.#window.started()
    this.#pace.started(this.perSecond, now)
  }

  /** Frees the slot of a request. A request without an answer says nothing of the receiver. */
  ended(now: Instant, answer?: Answer): void {
    this.#inFlight--
    if (!answer) return this.#pace.notSent(this.perSecond)
    const { verdict, startedAt, latencyMs } = answer
    const isSlow = this.#usualMs !== undefined && isSlower(latencyMs, this.#usualMs)
    if (verdict === 'refused' || isSlow) this.#isStarting = false
    if (verdict === 'accepted' && this.#isStarting && this.#window.wasFull) this.#addSlots(1)
    this.#window.ended(verdict, startedAt, latencyMs)
    if (verdict === 'accepted' && this.#isBack) this.#window = new RequestWindow(now)
    if (this.#window.isComplete(now, this.#usualMs ?? 0, this.#windowKind))
      this.#completeWindow(now)
  }

  /** Starts again with few slots: the receiver accepted nothing, and has perhaps recovered. */
  circuitOpened(now: Instant): void {
    this.#restart(SLOTS_AFTER_CIRCUIT, now)
  }

  /** Starts again for another receiver. */
  receiverChanged(now: Instant): void {
    this.#restart(firstSlots(this.#mostSlots), now)
    this.#isBlocked = false
    this.#usualMs = undefined
  }

  #restart(slots: number, now: Instant): void {
    this.#slots = slots
    this.#perSecond = Infinity
    this.#tooFast = Infinity
    this.#isStarting = true
    this.#experiment = undefined
    this.#usualShare = 0
    this.#reason = 'growing'
    this.#window = new RequestWindow(now)
  }

  snapshot(): WebhookLimit {
    const { concurrency = Infinity, requestsPerSecond = Infinity } = this.ceiling
    const perSecond = this.perSecond
    const isSet = concurrency <= this.#slots || requestsPerSecond < this.#perSecond
    return {
      concurrency: this.slots,
      ...(perSecond !== Infinity && { requestsPerSecond: perSecond }),
      reason: this.#reason === 'growing' && isSet ? 'setting' : this.#reason,
    }
  }

  /** The refusals before the first accepted request say nothing about the receiver any more. */
  get #isBack(): boolean {
    const isLow = this.#perSecond <= 10 * LEAST_PER_SECOND
    return this.#isBlocked && isLow && this.#window.hasRefusals
  }

  get #windowKind(): WindowKind {
    if (this.#experiment?.kind === 'trial') return 'trial'
    return this.#isBlocked ? 'recovery' : 'usual'
  }

  #completeWindow(now: Instant): void {
    const sample = this.#window.sample(now)
    if (sample.refused > 0) this.#isBlocked = sample.accepted === 0
    const experiment = this.#experiment
    this.#window = new RequestWindow(now)
    this.#experiment = undefined
    if (experiment?.kind === 'trial') this.#judge(experiment, sample, now)
    else if (this.#isRefusedMore(sample)) this.#cut(sample, experiment)
    else this.#keepUp(sample, now)
  }

  /** A receiver that has limited its rate already needs less evidence. */
  #isRefusedMore({ ended, refused, startsPerSecond }: Sample): boolean {
    const isKnown = this.#perSecond !== Infinity && this.#usualShare <= TOLERATED
    const more = Math.max(TOLERATED, TOLERATED_PER_SECOND / startsPerSecond)
    const tolerated = Math.min(1, this.#usualShare + more)
    const deviation = Math.sqrt(ended * tolerated * (1 - tolerated))
    const most = ended * tolerated + (isKnown ? 1 : 3) * deviation
    return refused >= (isKnown ? 3 : 5) && refused > most
  }

  #cut(seen: Sample, earlier: Experiment | undefined): void {
    const { slots, perSecond } = earlier ?? { slots: this.#slots, perSecond: this.#perSecond }
    const persists = earlier !== undefined && hasPersisted(earlier, seen)
    if (persists && seen.share <= MOST_BY_CHANCE)
      return this.#startTrial({ slots, perSecond, seen })
    this.#experiment = { kind: 'cut', slots, perSecond, seen }
    this.#limitTo(seen)
  }

  /** The rate at which only the usual share would be refused. */
  #acceptedPerSecond({ startsPerSecond, share }: Sample): number {
    return (startsPerSecond * (1 - share)) / (1 - this.#usualShare)
  }

  #limitTo(seen: Sample): void {
    const { ended, startsPerSecond, latencyMs } = seen
    const accepted = Math.max(this.#acceptedPerSecond(seen), startsPerSecond * DEEPEST_CUT)
    this.#perSecond = Math.max(AFTER_CUT * accepted, LEAST_PER_SECOND)
    this.#tooFast = this.#isBlocked ? Infinity : startsPerSecond
    this.#step = this.#isBlocked ? MOST_STEP : FIRST_STEP / ended
    this.#isStarting = false
    this.#reason = 'refusals'
    // A receiver can limit its slots instead of its rate. The accepted requests had these slots.
    if (latencyMs !== undefined) {
      const used = Math.ceil((accepted * latencyMs) / 1_000)
      this.#slots = Math.max(1, Math.min(this.#slots, used))
    }
  }

  #startTrial(before: Omit<Experiment, 'kind'>): void {
    this.#experiment = { kind: 'trial', ...before }
    this.#perSecond = Math.max(this.#acceptedPerSecond(before.seen) / 2, LEAST_PER_SECOND)
    this.#step = FIRST_STEP / before.seen.ended
    this.#isStarting = false
  }

  #judge(trial: Experiment, sample: Sample, now: Instant): void {
    this.#triedAt = now
    this.#slots = trial.slots
    this.#perSecond = trial.perSecond
    const { share } = trial.seen
    if (share > TOLERATED && !hasPersisted(trial, sample)) {
      this.#usualShare = Math.min(this.#usualShare, sample.share)
      const isStillRefused = this.#isRefusedMore(sample)
      return this.#limitTo(isStillRefused ? sample : trial.seen)
    }
    this.#usualShare = (share + sample.share) / 2
    if (share > TOLERATED) {
      this.#tooFast = Infinity
      this.#step = FAST_STEP
      this.#reason = 'growing'
      this.#isStarting = this.#perSecond === Infinity
    }
    this.#judgeLatency(trial, sample)
  }

  #judgeLatency({ seen }: Experiment, { latencyMs }: Sample): void {
    if (!seen.wasBusy || latencyMs === undefined || seen.latencyMs === undefined) return
    this.#usualMs = latencyMs
    if (!isSlower(seen.latencyMs, latencyMs)) return
    const used = (seen.startsPerSecond * latencyMs) / 1_000
    this.#slots = Math.max(1, Math.min(this.#slots, SLOWER * used))
    this.#step = FIRST_STEP / seen.ended
    this.#isStarting = false
    this.#reason = 'latency'
  }

  #keepUp(sample: Sample, now: Instant): void {
    const { latencyMs, share, wasBusy } = sample
    this.#usualShare = Math.min(this.#usualShare, share + TOLERATED)
    const usualMs = Math.min(this.#usualMs ?? Infinity, latencyMs ?? Infinity)
    if (usualMs !== Infinity) this.#usualMs = usualMs
    const rises = wasBusy && latencyMs !== undefined && isSlower(latencyMs, usualMs)
    const isWorthTrial = this.#usualShare > TOLERATED || (wasBusy && usualMs > SLOWER_MS)
    const trialAfterMs = rises ? TRIAL_AGAIN_MS : isWorthTrial ? TRIAL_EVERY_MS : Infinity
    if (now - this.#triedAt >= trialAfterMs)
      return this.#startTrial({ slots: this.#slots, perSecond: this.#perSecond, seen: sample })
    if (!rises) this.#grow(sample, now)
  }

  #grow({ wasFull, wasPaced }: Sample, now: Instant): void {
    if (this.#perSecond !== Infinity && now - this.#pacedAt > UNUSED_MS) this.#forgetPace()
    if (!wasFull && !wasPaced) return
    if (wasPaced) {
      const isFar = this.#perSecond < AFTER_CUT * this.#tooFast && this.#tooFast !== Infinity
      this.#perSecond = isFar
        ? (this.#perSecond + this.#tooFast) / 2
        : this.#perSecond * (1 + this.#step) + STEP_PER_SECOND
    }
    if (wasFull && !this.#isStarting) this.#addSlots(Math.max(0.5, this.#slots * this.#step))
    this.#step = Math.min(MOST_STEP, GROWTH * this.#step)
    if (this.#step > FAST_STEP) this.#reason = 'growing'
    if (this.#perSecond > MOST_PER_SECOND) this.#forgetPace()
    this.#isStarting = this.#perSecond === Infinity && this.#reason === 'growing'
  }

  #forgetPace(): void {
    this.#perSecond = Infinity
    this.#tooFast = Infinity
    this.#reason = 'growing'
  }

  #addSlots(count: number): void {
    this.#slots = Math.min(this.#mostSlots, this.#slots + count)
  }
}

const hasPersisted = ({ perSecond, seen }: Experiment, { share }: Sample): boolean =>
  share >= seen.share * (perSecond === Infinity ? PERSISTS : PERSISTS_PACED)

const isSlower = (latencyMs: number, usualMs: number): boolean =>
  latencyMs > Math.max(SLOWER * usualMs, usualMs + SLOWER_MS)
