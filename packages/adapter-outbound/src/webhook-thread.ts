import { Worker } from 'node:worker_threads'
import type {
  AttemptMaker,
  AttemptOrder,
  AttemptPolicy,
  MadeAttempt,
} from '@org/agent-messaging-core/runtime'
import type { AddressPolicy } from './address-guard.js'
import { unreachable } from './fault.js'
import type { OutboundOptions } from './outbound-http.js'

export type WebhookThreadOptions = {
  /** The service's: secrets are unsealed where they are used. */
  readonly masterKey: Uint8Array
  /** The service's, too. */
  readonly otherMasterKeys?: readonly Uint8Array[] | undefined
  /** The service's, or what of it requests go by. */
  readonly policy: AttemptPolicy
  /** Where webhooks may be, beside public addresses over https. */
  readonly addresses?: AddressPolicy
  readonly outbound?: Omit<OutboundOptions, 'guard'>
  /** Hears why a thread ended before it was closed. */
  readonly onError?: (reason: string) => void
}

export type WebhookThread = AttemptMaker & {
  /** Ends what is under way as unreachable, and the thread. Later attempts are unreachable. */
  close(): Promise<void>
}

/** What it holds at a time is small: more than this would stand empty, 48 MiB by default. */
const YOUNG_MIB = 12

/** How often is looked whether the thread still answers, and how long it may take to end. */
const WATCH_MS = 1_000
const END_MS = 5_000

/** No more than that is a customer's business. */
const LOST = 'the thread that sends webhooks ended'

/** What the thread is given. */
export type ThreadData = Required<Omit<WebhookThreadOptions, 'onError'>>
/** What the threads tell each other: all of a turn of the event loop at once, each with its number. Nothing follows `close`. */
export type Told = readonly (readonly [number, AttemptOrder])[] | 'close'
type Answered = readonly (readonly [number, MadeAttempt])[]

/**
 * Signs and sends in a thread of its own: the event loop is left to the API and the store, and a second processor has something to do.
 * The first attempt starts the thread, and the next one another if it ended by itself, which makes what it had under way `interrupted`. It
 * keeps the process alive only while attempts are under way.
 */
export function webhookThread({
  onError = () => undefined,
  ...options
}: WebhookThreadOptions): WebhookThread {
  let thread: WebhookThread | undefined
  let isClosed = false

  function onEnd(reason: string): void {
    thread = undefined
    if (!isClosed) onError(reason)
  }

  async function make(order: AttemptOrder): Promise<MadeAttempt> {
    if (isClosed) return unmade('the service is stopping')
    try {
      thread ??= startThread(options, onEnd)
    } catch (error) {
      // Where no more threads may be, or none at all.
      onError(String(error))
      return unmade(LOST)
    }
    return thread.make(order)
  }

  return {
    make,
    async close() {
      isClosed = true
      await thread?.close()
    },
  }
}

function startThread(
  { masterKey, otherMasterKeys = [], policy, addresses = {}, outbound = {} }: WebhookThreadOptions,
  onEnd: (reason: string) => void,
): WebhookThread {
  // As data: a host's policy may hold what cannot be sent to a thread.
  const needed = {
    headerPrefix: policy.headerPrefix,
    deliver: { deadlineMs: policy.deliver.deadlineMs },
  }
  const workerData: ThreadData = { masterKey, otherMasterKeys, policy: needed, addresses, outbound }
  const entry = new URL('./webhook-thread-entry.js', import.meta.url)
  const worker = new Worker(entry, {
    workerData,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
  })
  const underWay = new Map<
    number,
    { readonly until: number; readonly settle: (made?: MadeAttempt) => void }
  >()
  let orders: [number, AttemptOrder][] = []
  let last = 0
  let isClosing = false
  let reason = 'somebody ended it'
  const exited = new Promise((resolve) => worker.once('exit', resolve))

  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  const tell = (told: Told): void => worker.postMessage(told)

  /** Once for all that begin in one turn of the event loop. */
  function tellOrders(): void {
    tell(orders)
    orders = []
  }

  worker.on('message', (answered: Answered) => {
    for (const [number, made] of answered) {
      underWay.get(number)?.settle(made)
      underWay.delete(number)
    }
    if (underWay.size === 0 && !isClosing) worker.unref()
  })
  worker.on('error', (error) => (reason = String(error)))
  void exited.then(() => {
    clearInterval(watch)
    for (const { settle } of underWay.values()) settle()
    onEnd(reason)
  })
  worker.unref()

  let overdue: number | undefined
  /** An attempt ends within its lease by itself: a thread that says nothing of its oldest one after that hangs. Twice, for this one may have slept. */
  const watch = setInterval(() => {
    const [oldest] = underWay
    const isLate = oldest !== undefined && oldest[1].until < Date.now()
    if (isLate && overdue === oldest[0]) end('it did not answer')
    overdue = isLate ? oldest[0] : undefined
  }, WATCH_MS).unref()

  function end(why: string): void {
    reason = why
    void worker.terminate()
  }

  return {
    make(order) {
      if (underWay.size === 0) worker.ref()
      if (orders.length === 0) queueMicrotask(tellOrders)
      orders.push([++last, dataOf(order)])
      const since = Date.now()
      return new Promise((resolve) => {
        underWay.set(last, {
          until: order.lease.until,
          settle: (made = unmade(LOST, since)) => resolve(made),
        })
      })
    },
    async close() {
      isClosing = true
      worker.ref()
      queueMicrotask(() => tell('close')) // behind the orders of this turn
      const lastResort = setTimeout(end, END_MS, 'it did not end')
      await exited
      clearTimeout(lastResort)
    },
  }
}

/** Of what a host's storage gives, that alone which the request is made of: the rest may be nothing that a thread can be sent. */
function dataOf({ delivery, webhook, lease, body, trace }: AttemptOrder): AttemptOrder {
  const { id, url, secret, previousSecret, headers } = webhook
  return {
    delivery: { id: delivery.id, event: delivery.event },
    webhook: {
      id,
      url,
      secret,
      ...(previousSecret && { previousSecret }),
      ...(headers && { headers }),
    },
    lease: { until: lease.until },
    body,
    ...(trace && { trace }),
  }
}

function unmade(why: string, since = Date.now()): MadeAttempt {
  return { startedAt: since, endedAt: Date.now(), outcome: unreachable('interrupted', why) }
}
