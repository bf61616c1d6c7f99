import type { Instant } from '../domain/values/instant.js'
import type {
  Answer,
  LimitCeiling,
  LimitReason,
  WebhookLimit,
} from '../domain/webhooks/webhook-limit.js'

/** The slots of a new webhook: at most a quarter of all. */
const FIRST_SLOTS = 8
export const firstSlots = (all: number): number => Math.min(FIRST_SLOTS, Math.ceil(all / 4))
const SLOTS_AFTER_CIRCUIT = 2
/** A limit never goes below this, so that it can find out that its receiver recovered. */
const LEAST_PER_SECOND = 0.5
/** A higher share of refusals cuts the limit. Receivers refuse less than this by chance. */
const TOLERATED = 0.14
/** A cut leaves this share of the accepted rate, and a quarter of the rate at least. */
const AFTER_CUT = 0.85
const DEEPEST_CUT = 0.25
/** A step of growth, as a share of the rate after the last cut, and of all slots. */
const STEP = 0.05
/** A window says enough from this number of requests, and from this product with its time. */
const ENOUGH = 10
const ENOUGH_TIMES_MS = 100_000
/** A late start is made up for if it is this late at most. Timers are that exact. */
const SLACK_MS = 10

/** The requests that started since `openedAt`. */
const openWindow = (openedAt: Instant) => ({
  openedAt,
  starts: 0,
  accepted: 0,
  failed: 0,
  refused: 0,
  /** The time in which deliveries waited and requests could be sent. */
  waitedMs: 0,
  /** Deliveries waited: for a slot of this limit, for its pace, or for anything. */
  wasFull: false,
  wasPaced: false,
  wasHeld: false,
})

/** The findings about a receiver that has got no request. */
const newFindings = (slots: number) => ({
  slots,
  perSecond: Infinity,
  /** The pace after the last cut, or when the last doubling ended. Steps are a share of it. */
  base: Infinity,
  least: LEAST_PER_SECOND,
  /** Each accepted request adds a slot or a request per second, until the first refusal. */
  isDoubling: true,
  /** The receiver accepted nothing, and has not recovered. */
  isBlocked: false,
})

/**
 * The limit of requests to one webhook by this process: slots, and a pace after refusals. While it
 * holds deliveries back, it doubles until the first refusal and after a recovery, and else grows in
 * equal steps. If deliveries waited in a window with too many refusals, the pace becomes less than
 * the accepted rate. Time without requests changes nothing. Pure: every method gets the time.
 */
export class AdaptiveLimit {
  /** The share of the settings. */
  ceiling: LimitCeiling = {}
  readonly #mostSlots: number
  #found: ReturnType<typeof newFindings>
  #window: ReturnType<typeof openWindow>
  #inFlight = 0
  /** The pace allows the next start at this time. */
  #nextAt: Instant = -Infinity
  /** The wait of the next delivery, as it was at `#seenAt`. Undefined: no delivery waits. */
  #waitMs: number | undefined
  #seenAt: Instant = 0

  constructor(mostSlots: number, now: Instant) {
    this.#mostSlots = mostSlots
    this.#found = newFindings(firstSlots(mostSlots))
    this.#window = openWindow(now)
  }

  get slots(): number {
    return Math.min(Math.floor(this.#found.slots), this.ceiling.concurrency ?? Infinity)
  }

  get perSecond(): number {
    return Math.min(this.#found.perSecond, this.ceiling.requestsPerSecond ?? Infinity)
  }

  /** Deliveries to hold: two rounds of the slots, or fewer if a slow pace would outlast leases. */
  get room(): number {
    return Math.max(1, Math.ceil(Math.min(2 * this.slots, this.perSecond / LEAST_PER_SECOND)))
  }

  /**
   * The time until a waiting delivery can start. 0: now. Infinity: a slot must be free first.
   * Call it only if a delivery waits, because a limit that is used grows.
   */
  waitMs(now: Instant): number {
    this.#countTime(now)
    const isFull = this.#inFlight >= this.slots
    // A clock that was set back must not hold the requests for longer than one gap.
    const paceMs = Math.max(0, Math.min(this.#nextAt - now, 1_000 / this.perSecond))
    this.#window.wasFull ||= isFull && this.slots !== this.ceiling.concurrency
    this.#window.wasPaced ||= !isFull && paceMs > 0 && this.perSecond === this.#found.perSecond
    this.#waitMs = isFull ? Infinity : paceMs
    return this.#waitMs
  }

  started(now: Instant): void {
    this.#countTime(now)
    this.#waitMs = undefined
    this.#inFlight++
    this.#window.starts++
    const isOnTime = Math.abs(now - this.#nextAt) <= SLACK_MS
    this.#nextAt = (isOnTime ? this.#nextAt : now) + 1_000 / this.perSecond
  }

  /** Frees the slot of a request. A request without an answer says nothing of the receiver. */
  ended(now: Instant, answer?: Answer): void {
    this.#countTime(now)
    this.#inFlight--
    if (!answer) this.#nextAt -= 1_000 / this.perSecond
    else if (answer.startedAt >= this.#window.openedAt) this.#count(answer, now)
  }

  /** Starts again: the receiver is another one, or has perhaps recovered during an open circuit. */
  restart(now: Instant, why: 'receiver' | 'circuit'): void {
    const slots = why === 'circuit' ? SLOTS_AFTER_CIRCUIT : firstSlots(this.#mostSlots)
    this.#found = newFindings(slots)
    this.#window = openWindow(now)
  }

  snapshot(): WebhookLimit {
    const pace = this.perSecond === Infinity ? {} : { requestsPerSecond: this.perSecond }
    return { concurrency: this.slots, ...pace, reason: this.#reason }
  }

  get #reason(): LimitReason {
    const { perSecond, isDoubling } = this.#found
    if (perSecond !== Infinity && !isDoubling) return 'refusals'
    if (this.slots === this.ceiling.concurrency || this.perSecond < perSecond) return 'setting'
    return this.#waitMs === Infinity ? 'slots' : 'growing'
  }

  /** Time in which nothing was in flight counts only as far as the pace demanded it. */
  #countTime(now: Instant): void {
    const ms = now - this.#seenAt
    this.#seenAt = now
    if (this.#waitMs === undefined) return
    this.#window.waitedMs += this.#inFlight > 0 ? ms : Math.min(ms, this.#waitMs)
  }

  #count({ verdict, retryAfterMs }: Answer, now: Instant): void {
    const found = this.#found
    if (verdict === 'refused') {
      found.least = Math.max(LEAST_PER_SECOND, 1 / Math.ceil(retryAfterMs / 1_000 || Infinity))
      if (found.isDoubling) found.base = found.perSecond
      found.isDoubling = false
    }
    if (verdict === 'accepted' && found.isBlocked) {
      found.isBlocked = false
      found.isDoubling = true
      this.#window = openWindow(now)
    }
    this.#window.wasHeld ||= this.#waitMs !== undefined
    this.#window[verdict]++
    if (verdict === 'accepted' && found.isDoubling) this.#grow(1, 1)
    this.#judge(now)
  }

  #judge(now: Instant): void {
    const { openedAt, starts, accepted, failed, waitedMs, wasHeld, ...window } = this.#window
    const ended = accepted + failed + window.refused
    // A receiver that accepts nothing is treated as one that refuses everything.
    const refused = accepted === 0 ? ended : window.refused
    const isEarly = refused >= ENOUGH && 2 * refused >= starts
    if (!isEarly && (ended < ENOUGH || ended * (now - openedAt) < ENOUGH_TIMES_MS)) return
    const deviation = Math.sqrt(ended * TOLERATED * (1 - TOLERATED))
    if (refused <= ended * TOLERATED + deviation) this.#keepUp()
    else if (wasHeld) this.#cut((1_000 * starts) / Math.max(1, waitedMs), refused / ended)
    this.#window = openWindow(now)
  }

  #cut(perSecond: number, share: number): void {
    const found = this.#found
    const left = Math.max(DEEPEST_CUT, AFTER_CUT * (1 - share))
    found.perSecond = Math.max(found.least, left * Math.min(found.perSecond, perSecond))
    found.base = found.perSecond
    found.isDoubling = false
    found.isBlocked = share === 1
  }

  #keepUp(): void {
    const found = this.#found
    if (found.isDoubling && !this.#window.wasPaced) found.perSecond = Infinity
    this.#grow(STEP * this.#mostSlots, Math.max(LEAST_PER_SECOND, STEP * found.base))
    if (found.perSecond > 2 * found.base) found.isDoubling = true
  }

  #grow(slots: number, perSecond: number): void {
    const { wasFull, wasPaced } = this.#window
    if (wasFull) this.#found.slots = Math.min(this.#mostSlots, this.#found.slots + slots)
    if (wasPaced) this.#found.perSecond += perSecond
  }
}
