import type { ClaimedDelivery, Outgoing } from '../ports/delivery-store.js'
import { attemptDelivery, type AttemptDeps } from './attempt-delivery.js'
import { createLoop } from './loop.js'

/**
 * Sends deliveries: those born claimed by this process at once, the rest as they come due. Webhooks take turns, and each
 * has a cap of its own, so that none waits for another's slow receiver.
 */
export type DeliveryWorker = {
  /** The claim for deliveries about to be committed; undefined when they are better left to `claimDue`. */
  admit(): Outgoing['claim']
  /** Sends what was born claimed. */
  take(claimed: readonly ClaimedDelivery[]): void
  wake(): void
  /** One round: claims what is due, as far as there is room. Gives the attempts that it claimed. */
  tick(): Promise<Promise<void>[]>
  start(): void
  /** Begins nothing more; attempts under way get `graceMs`. One that does not end in it is made again after its lease. */
  stop(graceMs: number): Promise<void>
}

type Waiting = { readonly claimed: ClaimedDelivery; readonly done: () => void }
/** What this process holds of one webhook. */
type Lane = { readonly queue: Waiting[]; inFlight: number }

export function createDeliveryWorker(d: AttemptDeps): DeliveryWorker {
  const { deadlineMs, leaseMs, maxInFlight, maxInFlightPerWebhook, prefetch } = d.policy.deliver
  /** In the order in which the webhooks get their turns; only those that hold something. */
  const lanes = new Map<string, Lane>()
  const attempts = new Set<Promise<void>>()
  let waiting = 0
  let moreDue = false
  let phase: 'stopped' | 'started' | 'draining' = 'stopped'
  const loop = createLoop(d, 'delivery worker', d.policy.pollMs, tick)

  /** Webhooks of which this process holds enough: as many in its queue as may be in flight. */
  const fullWebhooks = (): Set<string> =>
    new Set([...lanes].filter(([, lane]) => lane.queue.length >= maxInFlightPerWebhook).map(([webhookId]) => webhookId))

  function enqueue(claimed: ClaimedDelivery): Promise<void> {
    return new Promise((done) => {
      const lane = lanes.get(claimed.webhook.id) ?? { queue: [], inFlight: 0 }
      lanes.set(claimed.webhook.id, lane)
      lane.queue.push({ claimed, done })
      waiting++
    })
  }

  function startWaiting(): void {
    while (phase !== 'draining' && attempts.size < maxInFlight) {
      const turn = [...lanes].find(([, lane]) => lane.queue.length > 0 && lane.inFlight < maxInFlightPerWebhook)
      if (!turn) return
      const [webhookId, lane] = turn
      lanes.delete(webhookId)
      lanes.set(webhookId, lane) // behind the others now
      const next = lane.queue.shift()
      waiting--
      if (next) begin(webhookId, lane, next)
    }
  }

  function begin(webhookId: string, lane: Lane, { claimed, done }: Waiting): void {
    // It waited so long that its lease might end during the attempt: let go, it is due again by itself.
    const tooLate = claimed.lease.until < d.clock.now() + deadlineMs
    const attempt = tooLate ? Promise.resolve() : attemptDelivery(d, claimed)
    lane.inFlight++
    attempts.add(attempt)
    void attempt.then(() => {
      attempts.delete(attempt)
      lane.inFlight--
      if (lane.inFlight === 0 && lane.queue.length === 0) lanes.delete(webhookId)
      done()
      startWaiting()
      if (moreDue && waiting < prefetch / 2) loop.wake()
    })
  }

  async function tick(): Promise<Promise<void>[]> {
    const limit = phase === 'draining' ? 0 : prefetch - waiting
    if (limit <= 0) return []
    const now = d.clock.now()
    const except = fullWebhooks()
    const query = { now, until: now + leaseMs, limit, perWebhook: maxInFlightPerWebhook, perProject: limit, retries: limit, except }
    const claims = await d.storage.deliveries.claimDue(query)
    if (claims.isErr()) d.telemetry.record({ name: 'store.unavailable', reason: claims.error.reason })
    const claimed = claims.unwrapOr([])
    moreDue = claimed.length > 0 || except.size > 0
    const begun = claimed.map(enqueue)
    startWaiting()
    return begun
  }

  return {
    admit() {
      const hasRoom = phase === 'started' && attempts.size < maxInFlight && waiting < prefetch
      return hasRoom ? { until: d.clock.now() + leaseMs, except: fullWebhooks() } : undefined
    },
    take(claimed) {
      for (const one of claimed) void enqueue(one)
      startWaiting()
    },
    wake: loop.wake,
    tick,
    start() {
      if (phase === 'draining') return
      phase = 'started'
      loop.start()
    },
    async stop(graceMs) {
      phase = 'draining'
      await loop.stop()
      const ended = new AbortController()
      void Promise.all(attempts).then(() => ended.abort('ended'))
      await d.clock.sleep(graceMs, ended.signal)
    },
  }
}
