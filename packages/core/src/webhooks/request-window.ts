import type { Instant } from '../domain/instant.js'
import type { Verdict } from '../domain/webhook-limit.js'

/** The requests of a window of time, in figures that do not depend on its length. */
export type Sample = {
  readonly ended: number
  readonly accepted: number
  readonly refused: number
  /** The share of refusals among the requests that ended. */
  readonly share: number
  readonly startsPerSecond: number
  /** The median latency of the answers in ms, except refusals. Undefined without an answer. */
  readonly latencyMs: number | undefined
  /** Deliveries waited. */
  readonly wasBusy: boolean
  /** The limit held a request back: all slots were in use, or the pace demanded a wait. */
  readonly wasFull: boolean
  readonly wasPaced: boolean
}

/** `recovery` follows a window in which the receiver accepted nothing. */
export type WindowKind = 'usual' | 'trial' | 'recovery'

/** A window with this many requests says enough after `SHORT_MS`, one with few after `LONG_MS`. */
const MANY = 100
/** A few accepted requests show that a receiver is back that accepted nothing. */
const FEW_OF_RECOVERY = 3
const SHORT_MS = 500
const FEW = 10
const LONG_MS = 5_000
/** This number of refusals ends a window early if half of all are refused. */
const MANY_REFUSALS = 10
const MOST_LATENCIES = 256

/** Counts the requests that started since `openedAt`. */
export class RequestWindow {
  readonly #openedAt: Instant
  readonly #counts: Record<Verdict, number> = { accepted: 0, failed: 0, refused: 0 }
  readonly #latencies: number[] = []
  #starts = 0
  #answers = 0
  wasBusy = false
  wasFull = false
  wasPaced = false

  constructor(openedAt: Instant) {
    this.#openedAt = openedAt
  }

  get hasRefusals(): boolean {
    return this.#counts.refused + this.#counts.failed > 0
  }

  started(): void {
    this.#starts++
  }

  /** Ignores a request that started before the window: an earlier limit caused its outcome. */
  ended(verdict: Verdict, startedAt: Instant, latencyMs: number): void {
    if (startedAt < this.#openedAt) return
    this.#counts[verdict]++
    if (verdict === 'refused') return
    this.#latencies[this.#answers++ % MOST_LATENCIES] = latencyMs
  }

  /**
   * `latencyMs` is the usual latency. A shorter window would count more refusals than answers,
   * because refusals come faster.
   */
  isComplete(now: Instant, latencyMs: number, kind: WindowKind): boolean {
    const ms = now - this.#openedAt
    if (this.#ended >= MANY && ms >= Math.max(SHORT_MS, 2 * latencyMs)) return true
    if (this.#ended >= FEW && ms >= LONG_MS) return true
    if (kind === 'recovery' && this.#counts.accepted >= FEW_OF_RECOVERY && this.#refused === 0)
      return true
    return kind !== 'trial' && this.#isEarly
  }

  sample(now: Instant): Sample {
    const ended = this.#ended
    const refused = this.#refused
    return {
      ended,
      accepted: this.#counts.accepted,
      refused,
      share: ended === 0 ? 0 : refused / ended,
      // Some ended within the millisecond that the window began with.
      startsPerSecond: (1_000 * Math.max(this.#starts, ended)) / Math.max(1, now - this.#openedAt),
      latencyMs: median(this.#latencies),
      wasBusy: this.wasBusy,
      wasFull: this.wasFull,
      wasPaced: this.wasPaced,
    }
  }

  get #ended(): number {
    return this.#counts.accepted + this.#counts.failed + this.#counts.refused
  }

  /** Half of the requests were refused, even if the receiver accepts all in flight. */
  get #isEarly(): boolean {
    return this.#refused >= MANY_REFUSALS && 2 * this.#refused >= this.#starts
  }

  /** A receiver that accepts nothing is treated as one that refuses everything. */
  get #refused(): number {
    const { accepted, failed, refused } = this.#counts
    return accepted === 0 ? failed + refused : refused
  }
}

function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}
