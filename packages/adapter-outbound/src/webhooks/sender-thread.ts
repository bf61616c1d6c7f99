import { Worker } from 'node:worker_threads'
import {
  ShortLivedMap,
  type AttemptOrder,
  type AttemptPolicy,
  type Clock,
  type MadeAttempt,
} from '@org/agent-messaging-core/runtime'
import type { AddressPolicy } from '../address-guard.js'
import { unreachable } from '../fault.js'
import type { OutboundOptions } from '../outbound-http.js'
import type { NumberedResults } from './results.js'

/** Enough for the few objects that the thread holds. Node's default of 48 MiB would stay empty. */
const YOUNG_GENERATION_MIB = 12
const WATCH_INTERVAL_MS = 1_000
/** How long the thread can take to end. */
const END_TIMEOUT_MS = 5_000

/** The detail of lost attempts. Customers see it, so it names no cause. */
export const THREAD_ENDED = 'the thread that sends webhooks ended'

/** The data that starts the thread. */
export type ThreadData = {
  readonly masterKey: Uint8Array
  readonly otherMasterKeys: readonly Uint8Array[]
  readonly policy: AttemptPolicy
  readonly addresses: AddressPolicy
  readonly outbound: Omit<OutboundOptions, 'guard'>
}
/** A message to the thread: the orders of one event loop turn by number, or the last message. */
export type ThreadRequest = 'close' | { readonly orders: NumberedOrders; readonly offsetMs: number }
/** `offsetMs`: the service's time of day minus the system's. */
type NumberedOrders = readonly (readonly [number, AttemptOrder, canWait: boolean])[]
/** A message from the thread: `ready`, then results. */
type ThreadResponse = 'ready' | NumberedResults

/** `endsAt`: the end of the lease in elapsed time. */
type Pending = { readonly endsAt: number; readonly settle: (made?: MadeAttempt) => void }

/** One thread that sends webhooks, from its start to its end. */
export class SenderThread {
  readonly #worker: Worker
  readonly #clock: Clock
  readonly #exited: Promise<unknown>
  readonly #watch: NodeJS.Timeout
  /** Resolves when the thread has loaded, or has ended. Undefined once it has loaded. */
  #loading: Promise<void> | undefined
  #onLoaded = (): void => undefined
  /** Attempts without a result, by number. The oldest comes first. */
  readonly #pending = new ShortLivedMap<number, Pending>()
  /** Orders that wait for the end of this event loop turn. */
  #orders: [number, AttemptOrder, boolean][] = []
  #lastNumber = 0
  /** The oldest attempt, if its lease had ended at the last check. */
  #overdue: number | undefined
  #isClosing = false
  #endReason = 'the thread exited'

  /**
   * Throws if no thread can start. Calls `onEnd` when the thread has ended, and says whether it had
   * loaded.
   */
  constructor(
    workerData: ThreadData,
    clock: Clock,
    onEnd: (reason: string, hadLoaded: boolean) => void,
  ) {
    this.#clock = clock
    this.#worker = new Worker(new URL('./webhook-thread-entry.js', import.meta.url), {
      workerData,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB },
    })
    this.#loading = new Promise((resolve) => (this.#onLoaded = resolve))
    this.#worker.on('message', (response: ThreadResponse) => {
      if (response === 'ready') this.#loaded()
      else this.#settle(response)
    })
    this.#worker.on('error', (error) => (this.#endReason = String(error)))
    this.#worker.unref()
    this.#watch = setInterval(() => this.#checkLeases(), WATCH_INTERVAL_MS).unref()
    this.#exited = new Promise((resolve) => this.#worker.once('exit', resolve)).then(() => {
      clearInterval(this.#watch)
      for (const { settle } of this.#pending.values()) settle()
      const hadLoaded = this.#loading === undefined
      onEnd(this.#endReason, hadLoaded)
      this.#loaded()
    })
  }

  get loading(): Promise<void> | undefined {
    return this.#loading
  }

  make(order: AttemptOrder, canWait: boolean): Promise<MadeAttempt> {
    if (this.#pending.size === 0) this.#worker.ref()
    if (this.#orders.length === 0) queueMicrotask(() => this.#postOrders())
    const number = ++this.#lastNumber
    this.#orders.push([number, cloneable(order), canWait])
    const startedAt = this.#clock.now()
    const endsAt = this.#clock.elapsed() + order.lease.until - startedAt
    return new Promise((resolve) => {
      this.#pending.set(number, {
        endsAt,
        settle: (made = unsent(this.#clock, THREAD_ENDED, startedAt)) => resolve(made),
      })
    })
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#worker.ref()
    queueMicrotask(() => this.#post('close')) // After the orders of this turn.
    const timer = setTimeout(() => this.#terminate('the thread did not end'), END_TIMEOUT_MS)
    await this.#exited
    clearTimeout(timer)
  }

  #loaded() {
    this.#loading = undefined
    this.#onLoaded()
  }

  #postOrders() {
    this.#post({ orders: this.#orders, offsetMs: this.#clock.now() - Date.now() })
    this.#orders = []
  }

  #post(request: ThreadRequest) {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage(request)
  }

  #settle(results: NumberedResults) {
    for (const [number, made] of results) {
      this.#pending.get(number)?.settle(made)
      this.#pending.delete(number)
    }
    if (this.#pending.size === 0 && !this.#isClosing) this.#worker.unref()
  }

  /**
   * An attempt ends within its lease. The thread hangs if its oldest attempt is overdue at two
   * checks in a row. One check is not enough, because this process could have slept.
   */
  #checkLeases() {
    const [oldest] = this.#pending.keys()
    const endsAt = oldest === undefined ? Infinity : (this.#pending.get(oldest)?.endsAt ?? Infinity)
    const overdue = endsAt < this.#clock.elapsed() ? oldest : undefined
    if (overdue !== undefined && overdue === this.#overdue)
      this.#terminate('the thread did not answer')
    this.#overdue = overdue
  }

  #terminate(reason: string) {
    this.#endReason = reason
    void this.#worker.terminate()
  }
}

/** Copies only the used fields, because a host's storage can return functions. */
function cloneable({ delivery, webhook, lease, body, trace }: AttemptOrder): AttemptOrder {
  const { id, url, secret, previousSecret, headers, sending, hook } = webhook
  return {
    delivery: { id: delivery.id, event: delivery.event },
    webhook: {
      id,
      url,
      secret,
      ...(previousSecret && { previousSecret }),
      ...(headers && { headers }),
      ...(sending && { sending }),
      ...(hook && { hook }),
    },
    lease: { until: lease.until },
    body,
    ...(trace && { trace }),
  }
}

export const unsent = (clock: Clock, detail: string, startedAt = clock.now()): MadeAttempt => ({
  startedAt,
  endedAt: clock.now(),
  outcome: unreachable('interrupted', detail),
})
