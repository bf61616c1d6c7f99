import { isInterrupted, type WebhookDelivery } from '../domain/delivery.js'
import type { Webhook } from '../domain/webhook.js'
import type { ClaimedDelivery, ReleasedClaim, Outgoing } from '../ports/delivery-store.js'
import type { Platform } from '../platform.js'
import { makeAttempt, recordAttempt, type Made } from './attempt-delivery.js'
import type { Judged } from './health-decision.js'
import { createLoop } from '../pacing/loop.js'
import { createTurns, retryShare, type Waiting } from './turns.js'

/**
 * Sends deliveries: those born claimed by this process at once, the rest as they come due. Projects and webhooks take turns,
 * as `Turns` says, and each has a cap of its own, so that none waits for another's slow receiver.
 */
export type DeliverySender = {
  /** The claim for deliveries about to be committed; undefined when they are better left to `claimDue`. */
  admit(): Admission | undefined
  /** Sends what was born claimed, and remembers to look for what was not. `admission`: that of its commit. */
  take(claimed: readonly ClaimedDelivery[], admission: Admission | undefined): void
  /** The webhook was changed: what waits here for it is sent to it as it is now, and not at all while it is disabled. */
  renew(webhook: Webhook): void
  /** The webhook was deleted: what waits here for it is given up. */
  drop(webhookId: string): void
  /** The delivery was cancelled: if it waits here it is not sent. */
  cancel(delivery: Pick<WebhookDelivery, 'id' | 'webhookId'>): void
  /** Something is due: it is looked for here if this process sends, else the others are told. */
  wake(): void
  /** Requests under way. */
  readonly inFlight: number
  /** One round: claims what is due, as far as there is room. Gives the attempts that it claimed. */
  tick(): Promise<Promise<void>[]>
  start(): void
  /**
   * Begins nothing more, and gives up what waits: others may send it at once. Attempts under way get `graceMs`; one that does not end
   * in it is made again after its lease.
   */
  stop(graceMs: number): Promise<void>
}

/** `passedOver`: the webhooks and projects that had no room when something for them was committed. */
export type Admission = NonNullable<Outgoing['claim']> & { readonly passedOver: readonly string[] }

export function createDeliverySender(d: Platform): DeliverySender {
  const { deadlineMs, leaseMs, maxInFlight, maxInFlightPerWebhook, prefetch } = d.policy.deliver
  const turns = createTurns(d.policy.deliver)
  const attempts = new Set<Promise<void>>()
  /** Webhooks that failed here and were not well again since. */
  const failing = new Set<string>()
  /** Attempts that were made and have given up their slot. */
  let unrecorded = 0
  let moreDue = false
  /** Webhooks and projects of which more may be due, once they have room. */
  const passedOver = new Set<string>()
  let isClaiming = false
  /** Something ended while a claim was under way. */
  let hasEnded = false
  let phase: 'stopped' | 'started' | 'draining' = 'stopped'
  let stopHearing = (): void => undefined
  const loop = createLoop(d, 'delivery worker', d.policy.pollMs, tick)

  const enqueue = (claimed: ClaimedDelivery): Promise<void> =>
    new Promise((done) => turns.add({ claimed, done }))

  function wake(): void {
    if (phase === 'started') loop.wake()
    else d.workSignal.announce({ kind: 'deliveries' })
  }

  function startWaiting(): void {
    while (phase !== 'draining' && unrecorded < prefetch) {
      const next = turns.start()
      if (!next) return
      const attempt = make(next)
      attempts.add(attempt)
      void attempt.then(() => {
        attempts.delete(attempt)
        carryOn()
      })
    }
  }

  function hasReopened(): boolean {
    for (const id of passedOver) if (!turns.full.has(id)) return true
    return false
  }

  /** Something has ended. */
  function carryOn(): void {
    startWaiting()
    hasEnded ||= isClaiming // and a claim that is asked for now would find what this one is about to leave
    moreDue ||= hasReopened()
    // As soon as it is worth one: large claims that come when little is left here keep the senders waiting.
    if (!isClaiming && moreDue && turns.waiting < prefetch / 2) loop.wake()
  }

  async function make({ claimed, done }: Waiting): Promise<void> {
    // It waited so long that its lease might end during the attempt.
    const tooLate = claimed.lease.until < d.clock.now() + deadlineMs
    const made = tooLate ? undefined : await makeAttempt(d, claimed, failing)
    if (made && !isCutShort(made)) await record(made)
    else {
      turns.end(claimed)
      await release([claimed])
    }
    done()
  }

  /** What is not sent here after all is due at once, for whoever is to send it; if the store is away, then after its lease. */
  async function release(claims: readonly ClaimedDelivery[]): Promise<void> {
    if (claims.length === 0) return
    const held = claims.map(givenUp)
    const released = await d.storage.deliveries.release(held, d.clock.now())
    if (released.isErr())
      return d.telemetry.record({ name: 'store.unavailable', reason: released.error.reason })
    if (released.value > 0 && phase === 'draining') d.workSignal.announce({ kind: 'deliveries' })
  }

  async function letGo(waiting: readonly Waiting[]): Promise<void> {
    await release(waiting.map(({ claimed }) => claimed))
    for (const { done } of waiting) done()
  }

  /** What was committed, or claimed by a pass, while the workers were stopped. */
  function letGoLate(): void {
    if (phase === 'draining') void letGo(turns.clear())
  }

  /** By our stop, or because its turn came after its lease: no receiver's health and no delivery's schedule is to suffer of that. */
  function isCutShort({ claimed: { lease }, record: { attempt } }: Made): boolean {
    return (
      isInterrupted(attempt.outcome) && (phase === 'draining' || attempt.startedAt >= lease.until)
    )
  }

  /** The next request need not wait for the record of the last, unless the webhook is to be judged: that may end what goes there. */
  async function record(made: Made): Promise<void> {
    if (made.record.decideHealth) {
      note(made.claimed, made.record.attempt.outcome.kind === 'accepted')
      return conclude(made, await recordAttempt(d, made))
    }
    turns.end(made.claimed)
    unrecorded++
    carryOn()
    await recordAttempt(d, made)
    unrecorded--
  }

  function note({ webhook }: ClaimedDelivery, isWell: boolean): void {
    if (isWell) failing.delete(webhook.id)
    else failing.add(webhook.id)
  }

  function conclude({ claimed }: Made, judged: Judged | undefined): void {
    turns.end(claimed)
    if (judged) heed(judged)
  }

  function drop(webhookId: string): void {
    failing.delete(webhookId)
    void letGo(turns.drop(webhookId))
  }

  /** What waits for a webhook that is to be left alone is let go as well. Of one that answers again, or of its disabling, more is due. */
  function heed({ before, after }: Judged): void {
    if (after.status.kind === 'disabled' || after.health.circuit.kind === 'open') drop(after.id)
    const hasClosed =
      before.health.circuit.kind === 'open' && after.health.circuit.kind === 'closed'
    if (hasClosed || before.status.kind !== after.status.kind) loop.wake()
  }

  async function tick(): Promise<Promise<void>[]> {
    const limit = phase === 'draining' ? 0 : turns.room
    if (limit <= 0) return []
    isClaiming = true
    moreDue = false
    passedOver.clear()
    for (const id of turns.full) passedOver.add(id)
    const claimed = await claim(limit)
    isClaiming = false
    const begun = claimed.map(enqueue)
    letGoLate()
    if (hasEnded) carryOn()
    else startWaiting()
    hasEnded = false
    return begun
  }

  async function claim(limit: number): Promise<ClaimedDelivery[]> {
    const now = d.clock.now()
    const bounds = {
      limit,
      perWebhook: 2 * maxInFlightPerWebhook,
      perProject: Math.ceil(prefetch / 4),
      retries: Math.max(0, retryShare(prefetch) - turns.waitingRetries),
    }
    const claims = await d.storage.deliveries.claimDue({
      now,
      until: now + leaseMs,
      ...bounds,
      except: turns.full,
    })
    if (claims.isErr())
      d.telemetry.record({ name: 'store.unavailable', reason: claims.error.reason })
    const claimed = claims.unwrapOr([])
    // What stays below every bound is all that is due, but for the retries that were not asked for.
    moreDue ||=
      bounds.retries === 0 ||
      (claimed.length > 0 && claimed.length >= Math.min(...Object.values(bounds)))
    return claimed
  }

  return {
    admit() {
      const hasRoom = phase === 'started' && turns.inFlight < maxInFlight && turns.room > 0
      if (!hasRoom) return undefined
      const passed: string[] = []
      const has = (id: string): boolean => turns.full.has(id) && passed.push(id) > 0
      return { until: d.clock.now() + leaseMs, except: { has }, passedOver: passed }
    },
    take(claimed, admission) {
      for (const one of claimed) void enqueue(one)
      letGoLate()
      startWaiting()
      // What was not born claimed for want of room is claimed once there is some, not only at the next poll.
      if (!admission) moreDue = true
      for (const id of admission?.passedOver ?? []) passedOver.add(id)
      if (moreDue || hasReopened()) carryOn()
      // What was committed just now was not born claimed here, and there may have been something.
      if (phase !== 'started') wake()
    },
    renew(webhook) {
      if (webhook.status.kind === 'disabled') drop(webhook.id)
      else turns.renew(webhook)
    },
    drop,
    cancel({ id, webhookId }) {
      for (const { done } of turns.drop(webhookId, id)) done()
    },
    wake,
    get inFlight() {
      return turns.inFlight
    },
    tick,
    start() {
      if (phase !== 'stopped') return
      phase = 'started'
      stopHearing = d.workSignal.onAnnounced(({ kind }) => {
        if (kind === 'deliveries') loop.wake()
      })
      loop.start()
    },
    async stop(graceMs) {
      phase = 'draining'
      stopHearing()
      await loop.stop()
      const ended = new AbortController()
      void Promise.all([letGo(turns.clear()), ...attempts]).then(() => ended.abort('ended'))
      await d.clock.sleep(graceMs, ended.signal)
    },
  }
}

const givenUp = ({ delivery, lease, webhook }: ClaimedDelivery): ReleasedClaim => ({
  ...{ deliveryId: delivery.id, token: lease.token },
  isProbe: webhook.health.circuit.kind === 'open',
})
