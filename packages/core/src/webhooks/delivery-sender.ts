import type { WebhookDelivery } from '../domain/webhooks/delivery.js'
import { NO_CLAIMS } from '../domain/messages/first-claim.js'
import type { Instant } from '../domain/values/instant.js'
import { verdictOn, type Answer } from '../domain/webhooks/webhook-limit.js'
import { circuitAt, retryAfterOf } from '../domain/webhooks/webhook-health.js'
import { receiverIdOf, type Webhook } from '../domain/webhooks/webhook.js'
import { Alarm } from '../pacing/alarm.js'
import { within } from '../pacing/deadline.js'
import { reportUnavailable, valueOr } from '../pacing/report-unavailable.js'
import { WorkLoop } from '../pacing/work-loop.js'
import type { Platform } from '../platform.js'
import type {
  ClaimedDeliveries,
  ClaimedDelivery,
  Outgoing,
  ReleasedClaim,
} from '../ports/delivery-store.js'
import type { WaitingWork } from '../ports/work-signal.js'
import { isEventful, type FinishedAttempt, type WebhookTransition } from './attempt.js'
import { Attempts } from './attempts.js'
import { ClaimState } from './claim-state.js'
import { ChangedWebhooks, isHeld } from './changed-webhooks.js'
import { FairQueue, type Waiting } from './fair-queue.js'
import { LongWaits } from './long-waits.js'
import { Receivers } from './receivers.js'

/**
 * The claim for deliveries about to be committed. `since`: the number of changes of webhooks before
 * it.
 */
export type Admission = NonNullable<Outgoing['claim']> & { readonly since: number }

/**
 * Sends webhook deliveries.
 *
 * A delivery arrives in one of two ways:
 * - `take`: this process committed the delivery and already holds its lease, so no query is
 *   needed.
 * - `tick`: the store hands out deliveries whose time has come.
 *
 * `ClaimState` decides when the process claims, `FairQueue` which waiting delivery gets the next
 * slot, and `Attempts` makes and stores attempts. A result is stored after its slot is free again,
 * so a slow store does not slow the receiver.
 */
export class DeliverySender {
  readonly receivers: Receivers
  readonly #platform: Platform
  readonly #queue: FairQueue
  readonly #claims: ClaimState
  readonly #loop: WorkLoop
  readonly #attempts: Attempts
  readonly #changed: ChangedWebhooks
  readonly #longWaits: LongWaits
  /** Rings when a paced webhook can start its next request. */
  readonly #alarm: Alarm

  constructor(platform: Platform) {
    const { clock, policy } = platform
    this.#platform = platform
    this.#changed = new ChangedWebhooks(clock)
    const phase = () => this.#loop.phase
    this.#attempts = new Attempts(platform, phase)
    this.receivers = new Receivers(platform, phase, () => this.#sharesChanged())
    this.#queue = new FairQueue(platform, this.receivers, (id) => this.#claims.opened(id))
    this.#claims = new ClaimState(policy.deliver, this.#queue)
    this.#longWaits = new LongWaits(platform, this.#queue, this.receivers)
    this.#alarm = new Alarm(clock, () => {
      this.#queue.resume()
      this.#onSlotFree()
    })
    this.#loop = new WorkLoop(platform, {
      name: 'delivery sender',
      tick: () => this.tick(),
      onAnnounced: (work) => {
        if (work.kind === 'deliveries') this.#loop.wake()
        if (work.kind === 'webhook') void this.#reload(work)
      },
    })
  }

  /** Requests in flight. */
  get inFlight(): number {
    return this.#queue.inFlight
  }

  /** Webhooks with a waiting delivery that their limit does not let start now. */
  get limited(): ReadonlySet<string> {
    return this.#queue.limited
  }

  /**
   * Returns the claim for deliveries about to be committed, or undefined if this process has no
   * room.
   */
  admit(): Admission | undefined {
    const { clock, policy } = this.#platform
    const { leaseMs, deadlineMs: timeoutMs, maxInFlight } = policy.deliver
    const hasSlot = this.#queue.inFlight < maxInFlight && this.#queue.room > 0
    if (this.#loop.phase !== 'running' || !hasSlot) return undefined
    const { except } = this.#queue
    return { until: clock.now() + leaseMs, timeoutMs, except, since: this.#changed.count }
  }

  /** Sends the deliveries that were committed with a claim. */
  take(claims: ClaimedDeliveries, admission: Admission | undefined): void {
    void this.#hold(claims, admission?.since ?? 0)
    if (!admission) this.#claims.found()
    if (this.#claims.isMoreDue) this.#onSlotFree()
    if (this.#loop.phase !== 'running') this.wake()
  }

  /**
   * Applies a change of a webhook to its waiting deliveries, also in other processes. Releases them
   * if the webhook is disabled.
   */
  webhookChanged(webhook: Webhook): void {
    this.#applyChange(webhook)
    this.#announceChange(webhook.projectId, webhook.id)
  }

  /** Releases the webhook's waiting deliveries, also in other processes. */
  webhookDeleted(projectId: string, webhookId: string): void {
    this.#applyDeletion(webhookId)
    this.#announceChange(projectId, webhookId)
  }

  /** Drops the delivery if it waits here. */
  deliveryCancelled({ id, webhookId }: Pick<WebhookDelivery, 'id' | 'webhookId'>): void {
    for (const { done } of this.#queue.drop(webhookId, id)) done()
  }

  /** Looks for due deliveries. If this process does not send, tells the processes that do. */
  wake(): void {
    if (this.#loop.phase === 'running') this.#loop.wake()
    else this.#platform.workSignal.announce({ kind: 'deliveries' })
  }

  /**
   * Claims due deliveries once, as far as there is room. Returns a promise per claimed delivery.
   */
  async tick(): Promise<Promise<void>[]> {
    this.#longWaits.look()
    if (this.#loop.phase === 'draining' || this.#queue.room <= 0) return []
    const since = this.#changed.count
    const { hasFreeSlot, ...claims } = await this.#claimDue()
    const sends = this.#hold(claims, since)
    if (hasFreeSlot) this.#onSlotFree()
    return sends
  }

  start(): void {
    this.#loop.start()
  }

  /**
   * Starts nothing more and releases the waiting deliveries. Attempts in flight get `graceMs`;
   * another process repeats an attempt that takes longer, after its lease.
   */
  async stop(graceMs: number): Promise<void> {
    this.#alarm.stop()
    await this.#loop.stop()
    const released = this.#releaseWaiting(this.#queue.clear())
    await within(this.#platform.clock, graceMs, Promise.all([released, this.#attempts.idle()]))
    // Another process takes over the share when no request uses it any more.
    await this.receivers.stop()
  }

  #announceChange(projectId: string, webhookId: string): void {
    this.#platform.workSignal.announce({ kind: 'webhook', projectId, webhookId })
  }

  #applyChange(webhook: Webhook): void {
    this.#changed.note(webhook.id, webhook)
    this.receivers.update(webhook)
    this.#open(webhook.id)
    if (isHeld(webhook)) return this.#dropWaiting(webhook.id)
    if (this.#close(webhook)) return
    this.#queue.updateWebhook(webhook)
    this.#startWaiting()
  }

  #applyDeletion(webhookId: string): void {
    this.#changed.note(webhookId, 'deleted')
    this.#open(webhookId)
    this.receivers.forget(webhookId)
    this.#dropWaiting(webhookId)
  }

  /** Reads a webhook that another process has changed. */
  async #reload(changed: ChangedWebhook): Promise<void> {
    const { projectId, webhookId } = changed
    const { storage } = this.#platform
    const since = this.#changed.count
    const found = await storage.webhooks.get(projectId, webhookId)
    if (this.#loop.phase !== 'running') return
    if (!found.ok) return reportUnavailable(this.#platform, found.error)
    if (this.#changed.hasChanged(webhookId, since)) return this.#reload(changed)
    if (found.value) this.#applyChange(found.value)
    else this.#applyDeletion(webhookId)
  }

  /** Releases deliveries of webhooks that a change stopped, and those without a share. */
  #sendable(claimed: readonly ClaimedDelivery[], since: number): ClaimedDelivery[] {
    const released: ClaimedDelivery[] = []
    const sendable = claimed.flatMap((one) => {
      const current = this.#changed.apply(one, since)
      if (current && !this.#close(current.webhook)) return current
      released.push(one)
      return []
    })
    void this.#release(released)
    return sendable
  }

  /** The webhook's limit can leave something to this process. */
  #open(webhookId: string): void {
    this.receivers.open(webhookId)
    this.#queue.updateExcept(webhookId)
  }

  /** Leaves the webhook to others if its limit leaves nothing to this process. */
  #close(webhook: Webhook): boolean {
    const isClosed = this.receivers.close(webhook)
    if (isClosed) {
      this.#queue.updateExcept(receiverIdOf(webhook))
      this.#dropWaiting(receiverIdOf(webhook))
    }
    return isClosed
  }

  #sharesChanged(): void {
    for (const id of this.receivers.reopened()) this.#open(id)
    for (const webhook of this.#queue.waitingWebhooks())
      if (!this.#close(webhook)) this.#queue.updateWebhook(webhook)
    if (this.#loop.phase === 'running') this.#loop.wake()
  }

  /** Returns a promise per delivery that this process sends. */
  #hold({ deliveries, skipped }: ClaimedDeliveries, since: number): Promise<void>[] {
    const sends = this.#sendable(deliveries, since).map(
      (claimed) => new Promise<void>((done) => this.#queue.add({ claimed, done })),
    )
    this.#claims.skip(skipped)
    // These were committed or claimed during a stop.
    if (this.#loop.phase === 'draining') void this.#releaseWaiting(this.#queue.clear())
    this.#startWaiting()
    return sends
  }

  async #claimDue(): Promise<ClaimedDeliveries & { readonly hasFreeSlot: boolean }> {
    const { clock, policy, storage } = this.#platform
    this.#claims.begin()
    await clock.jumping
    const bounds = this.#claims.bounds
    const now = clock.now()
    const { leaseMs, deadlineMs: timeoutMs } = policy.deliver
    const { rooms, except } = this.#queue
    const terms = { now, until: now + leaseMs, timeoutMs }
    const claims = await storage.deliveries.claimDue({ ...terms, ...bounds, rooms, except })
    const claimed = valueOr(this.#platform, claims, NO_CLAIMS)
    return { ...claimed, hasFreeSlot: this.#claims.end(bounds, claimed.deliveries.length) }
  }

  readonly #startWaiting = (): void => {
    while (this.#loop.phase !== 'draining' && this.#queue.waiting > 0) {
      const next = this.#attempts.canBegin(this.#startWaiting) && this.#queue.start()
      if (!next) break
      this.#attempts.begin()
      void this.#send(next).then(this.#attemptEnded)
    }
    this.#alarm.set(this.#queue.nextStartAt)
  }

  readonly #attemptEnded = (): void => {
    this.#attempts.end()
    this.#onSlotFree()
  }

  #onSlotFree(): void {
    this.#startWaiting()
    this.#claims.slotFreed()
    if (this.#claims.isDue) this.#loop.wake()
  }

  async #send({ claimed, done }: Waiting): Promise<void> {
    const startedAt = this.#platform.clock.elapsed()
    const { recent } = this.receivers.of(claimed.webhook)
    const finished = await this.#attempts.make(claimed, recent, this.#queue.hasSpareSlots(claimed))
    if (finished) await this.#record(finished, startedAt)
    else {
      this.#queue.end(claimed)
      await this.#release([claimed])
    }
    done()
  }

  /**
   * Frees the slot before the record, unless the outcome can change the webhook: then no request
   * can overtake it.
   */
  async #record(finished: FinishedAttempt, startedAt: Instant): Promise<void> {
    const { claimed, record } = finished
    const answer = answerOf(finished, startedAt)
    if (!record.decideHealth) {
      this.#queue.end(claimed, answer)
      this.#onSlotFree()
    }
    const { webhook, nextIsDue } = await this.#attempts.record(finished)
    if (record.decideHealth) this.#queue.end(claimed, answer)
    if (nextIsDue || record.outgoing) this.#claims.found()
    if (webhook) this.#applyTransition(webhook)
  }

  #applyTransition(transition: WebhookTransition): void {
    const { before, after } = transition
    const now = this.#platform.clock.now()
    const wasOpen = before.health.circuit.kind === 'open'
    const circuit = circuitAt(after.health, now)
    if (!wasOpen && circuit === 'open')
      this.receivers.of(after).limit.restart(this.#platform.clock.elapsed(), 'circuit')
    if (after.status.kind === 'disabled') this.webhookChanged(after)
    else if (circuit === 'open') this.#dropWaiting(after.id)
    const isReady = wasOpen && circuit !== 'open'
    if (isReady || isEventful(transition)) this.#loop.wake()
  }

  #dropWaiting(webhookId: string): void {
    void this.#releaseWaiting(this.#queue.drop(webhookId))
  }

  async #releaseWaiting(waiting: readonly Waiting[]): Promise<void> {
    await this.#release(waiting.map(({ claimed }) => claimed))
    for (const { done } of waiting) done()
  }

  /**
   * Releases the leases of deliveries that this process will not send, so that another process can.
   * If the write fails, the leases expire.
   */
  async #release(claims: readonly ClaimedDelivery[]): Promise<void> {
    if (claims.length === 0) return
    const { clock, storage, workSignal } = this.#platform
    const released = await storage.deliveries.release(claims.map(releasedClaim), clock.now())
    if (!released.ok) return reportUnavailable(this.#platform, released.error)
    if (released.value > 0 && (this.#loop.phase === 'draining' || this.receivers.hasClosed))
      workSignal.announce({ kind: 'deliveries' })
  }
}

type ChangedWebhook = Extract<WaitingWork, { kind: 'webhook' }>

/** Returns undefined if the outcome says nothing about the receiver. */
function answerOf({ record }: FinishedAttempt, startedAt: Instant): Answer | undefined {
  const { outcome } = record.attempt
  const verdict = verdictOn(outcome)
  return verdict && { verdict, startedAt, retryAfterMs: retryAfterOf(outcome) }
}

const releasedClaim = ({ delivery, lease, webhook }: ClaimedDelivery): ReleasedClaim => ({
  deliveryId: delivery.id,
  token: lease.token,
  isProbe: webhook.health.circuit.kind === 'open',
})
