import type { Verdict } from '../src/domain/webhooks/webhook-limit.js'
import { AdaptiveLimit } from '../src/webhooks/adaptive-limit.js'
import { seededRandom } from '@org/agent-messaging-testing'

/** The answer of a simulated receiver to a request that arrives at `now`. */
type Reply = { readonly verdict: Verdict; readonly afterMs: number }
export type SimulatedReceiver = (now: number, random: () => number) => Reply

/** Answers after `latencyMs`, one half more or less. */
const noisy = (latencyMs: number, random: () => number): number => latencyMs * (0.5 + random())

/** Answers everything, however much comes. */
export const unlimited =
  (latencyMs: number): SimulatedReceiver =>
  (_, random) => ({ verdict: 'accepted', afterMs: noisy(latencyMs, random) })

/** Has this many slots. Refuses a request if all are in use. */
export function refusing(slots: number, latencyMs: number): SimulatedReceiver {
  let endings: number[] = []
  return (now, random) => {
    endings = endings.filter((at) => at > now)
    if (endings.length >= slots) return { verdict: 'refused', afterMs: 1 }
    const afterMs = noisy(latencyMs, random)
    endings.push(now + afterMs)
    return { verdict: 'accepted', afterMs }
  }
}

/** Accepts `perSecond`, and up to `burst` at once after a pause. */
export function tokenBucket(
  perSecond: number,
  burst: number,
  latencyMs: number,
): SimulatedReceiver {
  let tokens = burst
  let at = 0
  return (now, random) => {
    tokens = Math.min(burst, tokens + ((now - at) * perSecond) / 1_000)
    at = now
    const verdict = tokens >= 1 ? 'accepted' : 'refused'
    if (verdict === 'accepted') tokens--
    return { verdict, afterMs: noisy(latencyMs, random) }
  }
}

/** Answers nothing in time. */
export const hanging =
  (timeoutMs: number): SimulatedReceiver =>
  () => ({ verdict: 'refused', afterMs: timeoutMs })

/** Fails a share of the requests by chance. */
export const failing =
  (share: number, verdict: Verdict, receiver: SimulatedReceiver): SimulatedReceiver =>
  (now, random) =>
    random() < share ? { verdict, afterMs: 1 } : receiver(now, random)

/** One receiver until `at`, and another one from then on. */
export const changing =
  (at: number, before: SimulatedReceiver, after: SimulatedReceiver): SimulatedReceiver =>
  (now, random) =>
    now < at ? before(now, random) : after(now, random)

type Options = {
  readonly receiver: SimulatedReceiver
  readonly processes?: number
  readonly seed?: number
  /** The figures describe the time between the two. */
  readonly fromSeconds?: number
  readonly toSeconds?: number
  /** Deliveries per second that each process gets. Default: more than it can send. */
  readonly perSecond?: number
  /** Deliveries that arrive at the same time. */
  readonly together?: number
  /** The processes start no request between the two. */
  readonly pausedSeconds?: readonly [from: number, to: number]
}

export type Figures = {
  readonly acceptedPerSecond: number
  readonly refusedShare: number
  /** Of each process at the end. */
  readonly limits: readonly ReturnType<AdaptiveLimit['snapshot']>[]
  /** The largest number of requests in flight, of all processes together. */
  readonly mostInFlight: number
  /** The longest time that a delivery waited for its first request. */
  readonly mostWaitMs: number
}

/** The slots that fairness leaves to the webhook of a lone project. */
const SHARE = 48

/** Runs processes with a backlog against one receiver, in virtual time. */
export function simulate(options: Options): Figures {
  return new Simulation(options).run()
}

type Process = {
  readonly limit: AdaptiveLimit
  inFlight: number
  waiting: number
  /** When the waiting deliveries arrived. Retries and a backlog have no entry. */
  readonly arrivedAt: number[]
  timerAt: number
}

class Simulation {
  readonly #options: Required<Options>
  readonly #random: () => number
  readonly #processes: readonly Process[]
  readonly #events = new Events()
  #accepted = 0
  #refused = 0
  #ended = 0
  #inFlight = 0
  #mostInFlight = 0
  #mostWaitMs = 0

  constructor(options: Options) {
    const given = { processes: 1, seed: 1, fromSeconds: 20, toSeconds: 60, perSecond: Infinity }
    this.#options = { pausedSeconds: [Infinity, 0], together: 1, ...given, ...options }
    const random = seededRandom(this.#options.seed)
    this.#random = () => random.next()
    this.#processes = Array.from({ length: this.#options.processes }, () => ({
      limit: new AdaptiveLimit(64, 0),
      inFlight: 0,
      waiting: 0,
      arrivedAt: [],
      timerAt: Infinity,
    }))
  }

  run(): Figures {
    const { fromSeconds, toSeconds, pausedSeconds } = this.#options
    for (const [nth, process] of this.#processes.entries())
      this.#events.add(300 * nth, (now) => this.#arrive(process, now))
    for (const process of this.#processes)
      this.#events.add(1_000 * pausedSeconds[1], (now) => this.#start(process, now))
    this.#events.run(1_000 * toSeconds)
    return {
      acceptedPerSecond: this.#accepted / (toSeconds - fromSeconds),
      refusedShare: this.#refused / Math.max(1, this.#ended),
      limits: this.#processes.map(({ limit }) => limit.snapshot()),
      mostInFlight: this.#mostInFlight,
      mostWaitMs: this.#mostWaitMs,
    }
  }

  #arrive(process: Process, now: number): void {
    const { perSecond, together } = this.#options
    process.waiting += perSecond === Infinity ? Infinity : together
    if (perSecond !== Infinity) {
      for (let nth = 0; nth < together; nth++) {
        process.arrivedAt.push(now)
        process.limit.waitMs(Math.floor(now))
      }
      const pauseMs = (2_000 * together * this.#random()) / perSecond
      this.#events.add(now + pauseMs, (at) => this.#arrive(process, at))
    }
    this.#start(process, now)
  }

  /** A process reads whole milliseconds from its clock. */
  #start(process: Process, now: number): void {
    const clock = Math.floor(now)
    const [pausedAt, resumedAt] = this.#options.pausedSeconds
    if (now >= 1_000 * pausedAt && now < 1_000 * resumedAt) return
    while (process.waiting > 0) {
      const wait = process.limit.waitMs(clock)
      if (process.inFlight === SHARE) return
      if (wait > 0) return this.#startLater(process, clock + wait)
      process.limit.started(clock)
      process.waiting--
      this.#mostWaitMs = Math.max(this.#mostWaitMs, now - (process.arrivedAt.shift() ?? now))
      process.inFlight++
      this.#inFlight++
      this.#mostInFlight = Math.max(this.#mostInFlight, this.#inFlight)
      const { verdict, afterMs } = this.#options.receiver(now, this.#random)
      this.#events.add(now + afterMs, (at) => this.#end(process, verdict, clock, afterMs, at))
    }
  }

  /** Timers are late by up to 2 ms. */
  #startLater(process: Process, at: number): void {
    if (at === Infinity || process.timerAt <= at) return
    process.timerAt = at
    this.#events.add(Math.ceil(at) + 2 * this.#random(), (now) => {
      if (process.timerAt === at) process.timerAt = Infinity
      this.#start(process, now)
    })
  }

  #end(process: Process, verdict: Verdict, startedAt: number, ms: number, now: number): void {
    process.inFlight--
    this.#inFlight--
    process.limit.ended(Math.floor(now), { verdict, startedAt, retryAfterMs: 0 })
    if (verdict !== 'accepted' && this.#options.perSecond !== Infinity) process.waiting++
    if (now >= 1_000 * this.#options.fromSeconds) {
      this.#ended++
      if (verdict === 'accepted') this.#accepted++
      if (verdict === 'refused') this.#refused++
    }
    this.#start(process, now)
  }
}

type Event = { readonly at: number; run(now: number): void }

/** Events in the order of their times: a binary heap. */
class Events {
  readonly #heap: Event[] = []

  add(at: number, run: Event['run']): void {
    const heap = this.#heap
    let place = heap.push({ at, run }) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if ((heap[parent]?.at ?? 0) <= at) break
      this.#swap(place, parent)
      place = parent
    }
  }

  run(end: number): void {
    for (let next = this.#take(); next && next.at < end; next = this.#take()) next.run(next.at)
  }

  #take(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (!first || !last || first === last) return first
    heap[0] = last
    for (let place = 0; ;) {
      const left = 2 * place + 1
      const isRight = this.#at(left + 1) < this.#at(left)
      const child = isRight ? left + 1 : left
      if (this.#at(child) >= last.at) return first
      this.#swap(place, child)
      place = child
    }
  }

  #at(place: number): number {
    return this.#heap[place]?.at ?? Infinity
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#heap[a], this.#heap[b]]
    if (!one || !other) return
    this.#heap[a] = other
    this.#heap[b] = one
  }
}
