import { isInterrupted, type WebhookDelivery } from '../domain/delivery.js'
import { NO_CLAIMS } from '../domain/first-claim.js'
import type { Instant } from '../domain/instant.js'
import {
  verdictOn,
  type Answer,
  type LimitCeiling,
  type LimitReason,
  type WebhookLimit,
} from '../domain/webhook-limit.js'
import { circuitAt, retryAfterOf } from '../domain/webhook-health.js'
import type { Webhook } from '../domain/webhook.js'
import { Alarm } from '../pacing/alarm.js'
import { createLoop, type Loop } from '../pacing/loop.js'
import type { Platform } from '../platform.js'
import type {
  ClaimedDeliveries,
  ClaimedDelivery,
  Outgoing,
  ReleasedClaim,
} from '../ports/delivery-store.js'
import type { WaitingWork } from '../ports/work-signal.js'
import { firstSlots } from './adaptive-limit.js'
import {
  endAttempt,
  makeAttempt,
  recordAttempt,
  type FinishedAttempt,
  type WebhookTransition,
} from './attempt.js'
import { AttemptRecords, mostWaitingRecords } from './attempt-records.js'
import { ClaimState } from './claim-state.js'
import { ChangedWebhooks, isHeld } from './changed-webhooks.js'
import { FairQueue, type Waiting } from './fair-queue.js'
import { LongWaits } from './long-waits.js'
import { Receivers } from './receivers.js'
import { SenderShares } from './sender-shares.js'

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
 * Waiting deliveries share the slots fairly over projects and webhooks (see `FairQueue`). A result
 * is stored after its slot is free again, so a slow store does not slow the receiver.
 */
export class DeliverySender {
  readonly #platform: Platform
  readonly #queue: FairQueue
  readonly #claims: ClaimState
  readonly #loop: Loop
  /** Attempts that are not stored yet. */
  #attempts = 0
  readonly #onIdle: (() => void)[] = []
  readonly #receivers: Receivers
  readonly #shares: SenderShares
  readonly #changed: ChangedWebhooks
  readonly #longWaits: LongWaits
  readonly #records: AttemptRecords
  /** The time for limits and paces. A changed time of day does not move it. */
  readonly #steady: { readonly now: () => number }
  /** Webhooks whose limit leaves nothing to this process. */
  readonly #withoutShare = new Map<string, WithoutShare>()
  /** Rings when a paced webhook can start its next request. */
  readonly #alarm: Alarm
  /** Attempts with a free slot and a result that is not stored yet. */
  #unrecorded = 0
  #isMakerStarting = false
  #phase: 'stopped' | 'running' | 'draining' = 'stopped'
  #stopListening = (): void => undefined

  constructor(platform: Platform) {
    const { clock, policy } = platform
    this.#platform = platform
    this.#changed = new ChangedWebhooks(clock)
    this.#records = new AttemptRecords(platform)
    this.#steady = { now: () => clock.elapsed() }
    this.#receivers = new Receivers({
      clock: this.#steady,
      mostSlots: policy.deliver.maxInFlight,
      ceilingOf: (webhook) => this.#shareOf(webhook) ?? {},
    })
    this.#shares = new SenderShares(platform, () => this.#sharesChanged())
    this.#queue = new FairQueue(policy.deliver, this.#receivers, this.#steady, (id) =>
      this.#claims.opened(id),
    )
    this.#claims = new ClaimState(policy.deliver, this.#queue)
    const limitOf = (webhook: Webhook): WebhookLimit => this.limitOf(webhook)
    this.#longWaits = new LongWaits({ ...platform, queue: this.#queue, limitOf })
    this.#alarm = new Alarm(clock, () => {
      this.#queue.resume()
      this.#onSlotFree()
    })
    this.#loop = createLoop(platform, 'delivery sender', platform.policy.pollMs, () => this.tick())
  }

  /** Requests in flight. */
  get inFlight(): number {
    return this.#queue.inFlight
  }

  /** Webhooks with a waiting delivery that their limit does not let start now. */
  get limited(): ReadonlySet<string> {
    return this.#queue.limited
  }

  /** Counts the webhooks that this process sent to, by the reason of their limits. */
  get limits(): Record<LimitReason, number> {
    const counts = { growing: 0, refusals: 0, slots: 0, setting: 0, circuit: 0 }
    for (const { limit } of this.#receivers.all()) counts[limit.snapshot().reason]++
    counts.setting += this.#withoutShare.size
    return counts
  }

  /** Returns the limit of a webhook in this process. */
  limitOf({ id, health, sending }: Webhook): WebhookLimit {
    const { maxInFlight, maxConcurrency = Infinity } = this.#platform.policy.deliver
    const first = firstSlots(maxInFlight)
    const set = sending?.maxConcurrency ?? maxConcurrency
    const unused: WebhookLimit = {
      concurrency: Math.min(first, set),
      reason: set < first ? 'setting' : 'growing',
    }
    const shown = this.#withoutShare.has(id)
      ? ({ concurrency: 0, reason: 'setting' } as const)
      : (this.#receivers.find(id)?.limit.snapshot() ?? unused)
    return health.circuit.kind === 'open' ? { ...shown, reason: 'circuit' } : shown
  }

  /**
   * Returns the claim for deliveries about to be committed, or undefined if this process has no
   * room.
   */
  admit(): Admission | undefined {
    const { clock, policy } = this.#platform
    const { leaseMs, deadlineMs: timeoutMs, maxInFlight } = policy.deliver
    const hasSlot = this.#queue.inFlight < maxInFlight && this.#queue.room > 0
    if (this.#phase !== 'running' || !hasSlot) return undefined
    const { except } = this.#queue
    return { until: clock.now() + leaseMs, timeoutMs, except, since: this.#changed.count }
  }

  /** Sends the deliveries that were committed with a claim. */
  take({ deliveries, skipped }: ClaimedDeliveries, admission: Admission | undefined): void {
    for (const one of this.#sendable(deliveries, admission?.since ?? 0)) void this.#enqueue(one)
    this.#releaseIfDraining()
    if (!admission) this.#claims.found()
    this.#claims.skip(skipped)
    this.#startWaiting()
    if (this.#claims.isMoreDue) this.#onSlotFree()
    if (this.#phase !== 'running') this.wake()
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
    if (this.#phase === 'running') this.#loop.wake()
    else this.#platform.workSignal.announce({ kind: 'deliveries' })
  }

  /**
   * Claims due deliveries once, as far as there is room. Returns a promise per claimed delivery.
   */
  async tick(): Promise<Promise<void>[]> {
    this.#longWaits.look()
    if (this.#phase === 'draining' || this.#queue.room <= 0) return []
    const since = this.#changed.count
    const { deliveries, skipped, hasFreeSlot } = await this.#claimDue()
    const sends = this.#sendable(deliveries, since).map((one) => this.#enqueue(one))
    this.#claims.skip(skipped)
    this.#releaseIfDraining()
    if (hasFreeSlot) this.#onSlotFree()
    else this.#startWaiting()
    return sends
  }

  start(): void {
    if (this.#phase !== 'stopped') return
    this.#phase = 'running'
    this.#stopListening = this.#platform.workSignal.onAnnounced((work) => {
      if (work.kind === 'deliveries') this.#loop.wake()
      if (work.kind === 'webhook') void this.#reload(work)
    })
    this.#loop.start()
  }

  /**
   * Starts nothing more and releases the waiting deliveries. Attempts in flight get `graceMs`;
   * another process repeats an attempt that takes longer, after its lease.
   */
  async stop(graceMs: number): Promise<void> {
    this.#phase = 'draining'
    this.#records.flush()
    this.#stopListening()
    this.#alarm.stop()
    await this.#loop.stop()
    const ended = new AbortController()
    const released = this.#releaseWaiting(this.#queue.clear())
    void Promise.all([released, this.#idle()]).then(() => ended.abort('ended'))
    await this.#platform.clock.sleep(graceMs, ended.signal)
    // Another process takes over the share when no request uses it any more.
    await this.#shares.stop()
  }

  /** A pass of a host without timers counts as the only process. */
  #shareOf(webhook: Webhook): LimitCeiling | undefined {
    return this.#phase === 'stopped' ? this.#shares.whole(webhook) : this.#shares.of(webhook)
  }

  #announceChange(projectId: string, webhookId: string): void {
    this.#platform.workSignal.announce({ kind: 'webhook', projectId, webhookId })
  }

  #applyChange(webhook: Webhook): void {
    this.#changed.note(webhook.id, webhook)
    this.#receivers.update(webhook)
    this.#hasShare(webhook.id)
    if (isHeld(webhook)) return this.#dropWaiting(webhook.id)
    if (this.#shareOf(webhook) === undefined) return this.#leaveToOthers(webhook)
    this.#queue.updateWebhook(webhook)
    this.#startWaiting()
  }

  #applyDeletion(webhookId: string): void {
    this.#changed.note(webhookId, 'deleted')
    this.#hasShare(webhookId)
    this.#receivers.forget(webhookId)
    this.#dropWaiting(webhookId)
  }

  /** Reads a webhook that another process has changed. */
  async #reload(changed: ChangedWebhook): Promise<void> {
    const { projectId, webhookId } = changed
    const { storage, telemetry } = this.#platform
    const since = this.#changed.count
    const found = await storage.webhooks.get(projectId, webhookId)
    if (this.#phase !== 'running') return
    if (found.isErr())
      return telemetry.record({ name: 'store.unavailable', reason: found.error.reason })
    if (this.#changed.hasChanged(webhookId, since)) return this.#reload(changed)
    if (found.value) this.#applyChange(found.value)
    else this.#applyDeletion(webhookId)
  }

  /** Releases deliveries of webhooks that a change stopped, and those without a share. */
  #sendable(claimed: readonly ClaimedDelivery[], since: number): readonly ClaimedDelivery[] {
    const stopped: ClaimedDelivery[] = []
    const current = claimed.flatMap((one) => {
      const applied = this.#changed.apply(one, since)
      if (!applied) stopped.push(one)
      return applied ?? []
    })
    void this.#release(stopped)
    return this.#withShare(current)
  }

  /** The webhook's limit can leave something to this process. */
  #hasShare(webhookId: string): void {
    if (this.#withoutShare.delete(webhookId)) this.#queue.open(webhookId)
  }

  #leaveToOthers(webhook: Webhook): void {
    const until = this.#platform.clock.elapsed() + SHARE_KNOWN_MS
    this.#withoutShare.set(webhook.id, { webhook, until })
    this.#queue.close(webhook.id)
    this.#dropWaiting(webhook.id)
  }

  /** Releases deliveries of webhooks whose limit leaves nothing to this process. */
  #withShare(claimed: readonly ClaimedDelivery[]): readonly ClaimedDelivery[] {
    const without = claimed.filter(({ webhook }) => this.#shareOf(webhook) === undefined)
    if (without.length === 0) return claimed
    for (const { webhook } of without) this.#leaveToOthers(webhook)
    void this.#release(without)
    return claimed.filter((one) => !without.includes(one))
  }

  #sharesChanged(): void {
    const now = this.#platform.clock.elapsed()
    for (const [id, { webhook, until }] of this.#withoutShare)
      if (until <= now || this.#shareOf(webhook) !== undefined) this.#hasShare(id)
    for (const webhook of this.#queue.waitingWebhooks()) {
      if (this.#shareOf(webhook) === undefined) this.#leaveToOthers(webhook)
      else this.#queue.updateWebhook(webhook)
    }
    if (this.#phase === 'running') this.#loop.wake()
  }

  #enqueue(claimed: ClaimedDelivery): Promise<void> {
    return new Promise((done) => this.#queue.add({ claimed, done }))
  }

  async #claimDue(): Promise<ClaimedDeliveries & { readonly hasFreeSlot: boolean }> {
    const { clock, policy, storage, telemetry } = this.#platform
    this.#claims.begin()
    await clock.jumping
    const bounds = this.#claims.bounds
    const now = clock.now()
    const { leaseMs, deadlineMs: timeoutMs } = policy.deliver
    const { rooms, except } = this.#queue
    const terms = { now, until: now + leaseMs, timeoutMs }
    const claims = await storage.deliveries.claimDue({ ...terms, ...bounds, rooms, except })
    if (claims.isErr()) telemetry.record({ name: 'store.unavailable', reason: claims.error.reason })
    const claimed = claims.unwrapOr(NO_CLAIMS)
    return { ...claimed, hasFreeSlot: this.#claims.end(bounds, claimed.deliveries.length) }
  }

  #startWaiting(): void {
    const { maxInFlight } = this.#platform.policy.deliver
    while (this.#phase !== 'draining' && this.#unrecorded < maxInFlight && this.#canMake()) {
      const next = this.#queue.start()
      if (!next) break
      this.#attempts++
      void this.#send(next).then(this.#attemptEnded)
    }
    this.#alarm.set(this.#queue.nextStartAt)
  }

  /** False while the maker starts. A delivery that it held would miss changes of its webhook. */
  #canMake(): boolean {
    const starting = this.#queue.waiting > 0 && this.#platform.attempts.starting()
    if (!starting) return true
    if (!this.#isMakerStarting)
      void starting.then(() => {
        this.#isMakerStarting = false
        this.#startWaiting()
      })
    this.#isMakerStarting = true
    return false
  }

  readonly #attemptEnded = (): void => {
    this.#attempts--
    if (this.#attempts === 0) for (const tell of this.#onIdle.splice(0)) tell()
    this.#onSlotFree()
  }

  /** Resolves when no attempt is under way. */
  #idle(): Promise<void> {
    return this.#attempts === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#onIdle.push(resolve))
  }

  #onSlotFree(): void {
    this.#startWaiting()
    this.#claims.slotFreed()
    if (this.#claims.isDue) this.#loop.wake()
  }

  async #send({ claimed, done }: Waiting): Promise<void> {
    const { clock, policy } = this.#platform
    const startedAt = this.#steady.now()
    const timeoutMs = claimed.webhook.sending?.timeoutMs ?? policy.deliver.deadlineMs
    const isLeaseTooShort = claimed.lease.until < clock.now() + timeoutMs
    const { recent } = this.#receivers.of(claimed.webhook)
    const finished = isLeaseTooShort
      ? undefined
      : await makeAttempt(this.#platform, claimed, recent)
    if (finished && !this.#wasInterruptedByUs(finished))
      await this.#record(finished, answerOf(finished, startedAt))
    else {
      if (finished) endAttempt(finished)
      this.#queue.end(claimed)
      await this.#release([claimed])
    }
    done()
  }

  /**
   * An interruption by a stop or an ended lease costs neither the webhook's health nor a step of
   * the schedule.
   */
  #wasInterruptedByUs({ claimed, record: { attempt } }: FinishedAttempt): boolean {
    const isOurs = this.#phase === 'draining' || attempt.startedAt >= claimed.lease.until
    return isOurs && isInterrupted(attempt.outcome)
  }

  /**
   * Frees the slot before the record, unless the outcome can change the webhook: then no request
   * can overtake it.
   */
  async #record(finished: FinishedAttempt, answer: Answer | undefined): Promise<void> {
    const { claimed, record } = finished
    const hasEvents = record.outgoing !== undefined
    if (!record.decideHealth) {
      this.#queue.end(claimed, answer)
      this.#unrecorded++
      this.#onSlotFree()
      const { nextIsDue } = await recordAttempt(
        this.#platform,
        finished,
        this.#records,
        this.#mostWaiting(finished),
      )
      this.#unrecorded--
      if (nextIsDue || hasEvents) this.#claims.found()
      return
    }
    const { webhook, nextIsDue } = await recordAttempt(this.#platform, finished, this.#records)
    this.#queue.end(claimed, answer)
    if (nextIsDue || hasEvents) this.#claims.found()
    if (webhook) this.#applyTransition(webhook)
  }

  /** The next delivery of an order, and a stop, wait for the record. */
  #mostWaiting({ claimed, record }: FinishedAttempt): number | undefined {
    const mustHurry = record.outgoing !== undefined || claimed.delivery.orderKey !== undefined
    return mustHurry || this.#phase !== 'running'
      ? undefined
      : mostWaitingRecords(this.#queue.inFlight)
  }

  #applyTransition({ before, after }: WebhookTransition): void {
    const now = this.#platform.clock.now()
    const wasOpen = before.health.circuit.kind === 'open'
    const circuit = circuitAt(after.health, now)
    if (!wasOpen && circuit === 'open')
      this.#receivers.of(after).limit.restart(this.#steady.now(), 'circuit')
    if (after.status.kind === 'disabled') this.webhookChanged(after)
    else if (circuit === 'open') this.#dropWaiting(after.id)
    const isReady = wasOpen && circuit !== 'open'
    if (isReady || before.status.kind !== after.status.kind) this.#loop.wake()
  }

  #dropWaiting(webhookId: string): void {
    void this.#releaseWaiting(this.#queue.drop(webhookId))
  }

  /** Releases deliveries that were committed or claimed during a stop. */
  #releaseIfDraining(): void {
    if (this.#phase === 'draining') void this.#releaseWaiting(this.#queue.clear())
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
    const { clock, storage, telemetry, workSignal } = this.#platform
    const released = await storage.deliveries.release(claims.map(releasedClaim), clock.now())
    if (released.isErr())
      return telemetry.record({ name: 'store.unavailable', reason: released.error.reason })
    if (released.value > 0 && (this.#phase === 'draining' || this.#withoutShare.size > 0))
      workSignal.announce({ kind: 'deliveries' })
  }
}

type ChangedWebhook = Extract<WaitingWork, { kind: 'webhook' }>

/** The webhook is looked at again after `until`: news of a change can get lost. */
type WithoutShare = { readonly webhook: Webhook; readonly until: number }
const SHARE_KNOWN_MS = 60_000

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
