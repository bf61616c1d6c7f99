import type { Instant } from '../domain/values/instant.js'
import type { Answer } from '../domain/webhooks/webhook-limit.js'
import { receiverIdOf, type Webhook } from '../domain/webhooks/webhook.js'
import type { Platform } from '../platform.js'
import type { DeliverPolicy } from '../policy.js'
import type { ClaimDue, ClaimedDelivery } from '../ports/delivery-store.js'
import type { Clock } from '../ports/platform.js'
import { withSettings } from './changed-webhooks.js'
import { firstSlots, type AdaptiveLimit } from './adaptive-limit.js'
import { LeastLoadedQueue } from './least-loaded-queue.js'
import type { Receivers } from './receivers.js'

/**
 * A delivery that waits for a slot. `done` is called when this process has finished with the
 * delivery.
 */
export type Waiting = { readonly claimed: ClaimedDelivery; readonly done: () => void }

type Kind = 'first' | 'retry'
type Counts = Record<Kind, number>

/** The deliveries of one webhook in this process, or of the hooks that share a receiver. */
type WebhookQueue = {
  readonly id: string
  readonly project: ProjectQueue
  readonly limit: AdaptiveLimit
  readonly waiting: Record<Kind, Waiting[]>
  inFlight: number
}

/** The webhooks of one project that can start a waiting delivery, by kind. */
type ProjectQueue = {
  readonly id: string
  readonly ready: Record<Kind, LeastLoadedQueue<WebhookQueue>>
  waiting: number
  inFlight: number
  retriesInFlight: number
}

/** Retries get at most three quarters of `all`. */
export const retryShare = (all: number): number => Math.ceil((all * 3) / 4)
/** One webhook or project gets at most a quarter of the buffer by one claim. */
export const claimShare = ({ prefetch }: Pick<DeliverPolicy, 'prefetch'>): number =>
  Math.ceil(prefetch / 4)

/**
 * The deliveries that this process holds, and the order in which they get slots.
 *
 * A delivery can start if the limit of its webhook allows it (see `AdaptiveLimit`). The next slot
 * goes to the kind (first attempts or retries) with fewer requests in flight, then to the project
 * with the fewest, then to that project's webhook with the fewest. Three limits keep slots free:
 * - Retries hold at most three quarters of the slots, and of the slots of each project.
 * - A project holds at most three times as many slots as it leaves free. The last free slot goes
 *   to a project with none in flight. So receivers that hang never take the last slot.
 * - A webhook holds at most eleven times as many slots as it leaves to its project. The last one
 *   goes to a webhook with none in flight.
 *
 * No method visits all webhooks.
 */
export class FairQueue {
  readonly #policy: DeliverPolicy
  readonly #receivers: Receivers
  /** Limits and paces follow the elapsed time: a changed time of day does not move them. */
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #webhooks = new Map<string, WebhookQueue>()
  readonly #projects = new Map<string, ProjectQueue>()
  /** Projects with a webhook that can start a waiting delivery. */
  readonly #ready: Record<Kind, LeastLoadedQueue<ProjectQueue>> = {
    first: new LeastLoadedQueue(),
    retry: new LeastLoadedQueue(),
  }
  /** Webhooks with a waiting delivery, a free slot, and a pace that demands a wait. */
  readonly #paced = new Map<WebhookQueue, Instant>()
  #nextStartAt: Instant = Infinity
  /** Webhooks and projects that have enough waiting. */
  readonly #full = new Set<string>()
  readonly #except = new Set<string>()
  readonly #opened: (id: string) => void
  readonly #limited = new Set<string>()
  readonly #waiting: Counts = { first: 0, retry: 0 }
  readonly #inFlight: Counts = { first: 0, retry: 0 }
  /** Waiting deliveries that count against `prefetch`. One project counts for at most half. */
  #buffered = 0

  /** `opened` is called when an id leaves `except`. */
  constructor(
    { clock, policy }: Pick<Platform, 'clock' | 'policy'>,
    receivers: Receivers,
    opened: (id: string) => void,
  ) {
    this.#policy = policy.deliver
    this.#receivers = receivers
    this.#clock = clock
    this.#opened = opened
  }

  get waiting(): number {
    return this.#waiting.first + this.#waiting.retry
  }

  get waitingRetries(): number {
    return this.#waiting.retry
  }

  get inFlight(): number {
    return this.#inFlight.first + this.#inFlight.retry
  }

  /** True if the delivery's webhook, and all together, take at most half of their slots. */
  hasSpareSlots(claimed: ClaimedDelivery): boolean {
    const { inFlight, limit } = this.#queueOf(claimed)
    return 2 * inFlight <= limit.slots && 2 * this.inFlight <= this.#policy.maxInFlight
  }

  /** How many more deliveries can be claimed: at least the number of free slots. */
  get room(): number {
    return Math.max(this.#policy.prefetch - this.#buffered, this.#free)
  }

  /**
   * The ids of webhooks and projects of which this process takes no more now: enough of them waits,
   * or they are closed. A live view.
   */
  get except(): ReadonlySet<string> {
    return this.#except
  }

  /** The ids of webhooks with a waiting delivery that their limit does not let start. */
  get limited(): ReadonlySet<string> {
    return this.#limited
  }

  /** The time at which `resume` can have an effect. Infinity: no webhook waits for its pace. */
  get nextStartAt(): Instant {
    return this.#nextStartAt
  }

  /** How many more deliveries of each webhook can wait here. A live view. */
  readonly rooms: ClaimDue['rooms'] = {
    get: (webhookId) => {
      const queue = this.#webhooks.get(webhookId)
      const limit = queue?.limit ?? this.#receivers.find(webhookId)?.limit
      return Math.max(0, this.#roomUnder(limit) - (queue ? waitingOf(queue) : 0))
    },
  }

  /** Call it when the webhook was closed or opened. */
  updateExcept(id: string): void {
    if (this.#full.has(id) || this.#receivers.isClosed(id)) this.#except.add(id)
    else if (this.#except.delete(id)) this.#opened(id)
  }

  add(waiting: Waiting): void {
    const { claimed } = waiting
    const queue = this.#queueOf(claimed)
    const kind = kindOf(claimed)
    queue.waiting[kind].push(waiting)
    this.#countWaiting(queue, kind, 1)
    this.#reposition(queue)
  }

  /** Takes the next delivery and gives it a slot. Returns undefined if none can start. */
  start(): Waiting | undefined {
    return this.#inFlight.first <= this.#inFlight.retry
      ? (this.#startKind('first') ?? this.#startKind('retry'))
      : (this.#startKind('retry') ?? this.#startKind('first'))
  }

  /** Frees the slot of a delivery. Without an answer, nothing was sent. */
  end(claimed: ClaimedDelivery, answer?: Answer): void {
    const queue = this.#queueOf(claimed)
    queue.limit.ended(this.#clock.elapsed(), answer)
    this.#countInFlight(queue, kindOf(claimed), -1)
    this.#reposition(queue)
  }

  /** Looks again at the webhooks whose pace demanded a wait. */
  resume(): void {
    const now = this.#clock.elapsed()
    for (const [queue, at] of this.#paced) if (at <= now) this.#reposition(queue)
    this.#nextStartAt = Math.min(Infinity, ...this.#paced.values())
  }

  /** Gives the webhook's waiting deliveries its new settings, except its health. */
  updateWebhook(webhook: Webhook): void {
    const queue = this.#webhooks.get(receiverIdOf(webhook))
    if (!queue) return
    this.#receivers.of(webhook)
    for (const waiting of [queue.waiting.first, queue.waiting.retry]) {
      for (const [at, { claimed, done }] of waiting.entries())
        if (claimed.webhook.id === webhook.id)
          waiting[at] = { claimed: withSettings(claimed, webhook), done }
    }
    this.#reposition(queue)
  }

  /** Returns the webhooks with a waiting delivery, as one of these shows them. */
  waitingWebhooks(): Webhook[] {
    return [...this.#webhooks.values()].flatMap(({ waiting: { first, retry } }) => {
      const one = first[0] ?? retry[0]
      return one ? [one.claimed.webhook] : []
    })
  }

  /** Takes out the waiting deliveries of a webhook or hook, or only the one with the given id. */
  drop(webhookId: string, deliveryId?: string): Waiting[] {
    const queue = this.#webhooks.get(webhookId)
    // A hook waits in the queue of its receiver. Deletions of hooks are rare.
    return (queue ? [queue] : [...this.#webhooks.values()]).flatMap((one) =>
      this.#takeFrom(
        one,
        ({ webhook, delivery }) =>
          (queue !== undefined || webhook.id === webhookId) &&
          (deliveryId === undefined || delivery.id === deliveryId),
      ),
    )
  }

  #takeFrom(queue: WebhookQueue, isTaken: (claimed: ClaimedDelivery) => boolean): Waiting[] {
    const dropped = [...takeOut(queue.waiting.first, isTaken)]
    dropped.push(...takeOut(queue.waiting.retry, isTaken))
    if (dropped.length === 0) return []
    for (const { claimed } of dropped) this.#countWaiting(queue, kindOf(claimed), -1)
    this.#reposition(queue)
    return dropped
  }

  /** Takes out every waiting delivery. */
  clear(): Waiting[] {
    return [...this.#webhooks.keys()].flatMap((webhookId) => this.drop(webhookId))
  }

  get #free(): number {
    return this.#policy.maxInFlight - this.inFlight
  }

  /** The slots that the project can still get: each leaves a third of itself free. */
  #freeOf({ inFlight }: ProjectQueue): number {
    return Math.floor((3 * (this.#free - 1) - inFlight) / 4) + 1
  }

  #startKind(kind: Kind): Waiting | undefined {
    if (kind === 'retry' && this.#inFlight.retry >= retryShare(this.#policy.maxInFlight))
      return undefined
    const project = this.#ready[kind].first()
    const free = project ? this.#freeOf(project) : 0
    const queue = project?.ready[kind].first()
    if (!project || !queue || free <= 0 || queue.inFlight > 11 * (free - 1)) return undefined
    if (kind === 'retry' && project.retriesInFlight > 3 * (free - 1)) return undefined
    const next = queue.waiting[kind].shift()
    if (!next) return undefined
    queue.limit.started(this.#clock.elapsed())
    this.#countWaiting(queue, kind, -1)
    this.#countInFlight(queue, kind, 1)
    this.#reposition(queue)
    return next
  }

  #countWaiting({ project }: WebhookQueue, kind: Kind, by: 1 | -1): void {
    const half = this.#policy.prefetch / 2
    this.#waiting[kind] += by
    this.#buffered -= Math.min(project.waiting, half)
    project.waiting += by
    this.#buffered += Math.min(project.waiting, half)
  }

  #countInFlight(queue: WebhookQueue, kind: Kind, by: 1 | -1): void {
    this.#inFlight[kind] += by
    queue.project.inFlight += by
    if (kind === 'retry') queue.project.retriesInFlight += by
    queue.inFlight += by
  }

  /**
   * Updates the webhook's and its project's place after a change. Removes them when they are
   * empty.
   */
  #reposition(queue: WebhookQueue): void {
    const { project } = queue
    const waiting = waitingOf(queue)
    const canStart = waiting > 0 && this.#canStart(queue)
    this.#repositionKind(queue, 'first', canStart)
    this.#repositionKind(queue, 'retry', canStart)
    this.#markFull(queue.id, waiting >= this.#fullFrom(queue))
    this.#markFull(project.id, project.waiting >= this.#policy.prefetch / 2)
    if (waiting > 0 && !canStart) this.#limited.add(queue.id)
    else this.#limited.delete(queue.id)
    if (waiting === 0) this.#paced.delete(queue)
    if (queue.inFlight === 0 && waiting === 0) this.#webhooks.delete(queue.id)
    if (project.inFlight === 0 && project.waiting === 0) this.#projects.delete(project.id)
  }

  #canStart(queue: WebhookQueue): boolean {
    const now = this.#clock.elapsed()
    const waitMs = queue.limit.waitMs(now)
    this.#paced.delete(queue)
    if (waitMs > 0 && waitMs < Infinity) {
      this.#paced.set(queue, now + waitMs)
      this.#nextStartAt = Math.min(this.#nextStartAt, now + waitMs)
    }
    return waitMs === 0
  }

  #repositionKind(queue: WebhookQueue, kind: Kind, canStart: boolean): void {
    const { project } = queue
    if (canStart && queue.waiting[kind].length > 0) project.ready[kind].put(queue, queue.inFlight)
    else project.ready[kind].remove(queue)
    if (project.ready[kind].first()) this.#ready[kind].put(project, project.inFlight)
    else this.#ready[kind].remove(project)
  }

  /** A full webhook stays full until half of its room is free, so that claims are not too small. */
  #fullFrom({ id, limit }: WebhookQueue): number {
    const room = this.#roomUnder(limit)
    return this.#full.has(id) ? Math.floor(room / 2) + 1 : room
  }

  #roomUnder(limit: AdaptiveLimit | undefined): number {
    const room = limit?.room ?? 2 * firstSlots(this.#policy.maxInFlight)
    return Math.min(room, claimShare(this.#policy))
  }

  #markFull(id: string, isFull: boolean): void {
    if (isFull === this.#full.has(id)) return
    if (isFull) this.#full.add(id)
    else this.#full.delete(id)
    this.updateExcept(id)
  }

  #queueOf({ webhook }: ClaimedDelivery): WebhookQueue {
    const { projectId } = webhook
    const id = receiverIdOf(webhook)
    const known = this.#webhooks.get(id)
    if (known) return known
    const { limit } = this.#receivers.of(webhook)
    const project = this.#projects.get(projectId) ?? emptyProject(projectId)
    this.#projects.set(projectId, project)
    const queue = { id, project, limit, waiting: { first: [], retry: [] }, inFlight: 0 }
    this.#webhooks.set(id, queue)
    return queue
  }
}

const kindOf = ({ delivery }: ClaimedDelivery): Kind =>
  delivery.attemptCount > 0 ? 'retry' : 'first'

const waitingOf = ({ waiting }: WebhookQueue): number => waiting.first.length + waiting.retry.length

const emptyProject = (id: string): ProjectQueue => ({
  id,
  ready: { first: new LeastLoadedQueue(), retry: new LeastLoadedQueue() },
  waiting: 0,
  inFlight: 0,
  retriesInFlight: 0,
})

function takeOut(waiting: Waiting[], isTaken: (claimed: ClaimedDelivery) => boolean): Waiting[] {
  const all = waiting.splice(0)
  waiting.push(...all.filter(({ claimed }) => !isTaken(claimed)))
  return all.filter(({ claimed }) => isTaken(claimed))
}
