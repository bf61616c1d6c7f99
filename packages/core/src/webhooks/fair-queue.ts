import type { Webhook } from '../domain/webhook.js'
import type { DeliverPolicy } from '../policy.js'
import type { ClaimedDelivery } from '../ports/delivery-store.js'
import { LeastLoadedQueue } from './least-loaded-queue.js'

/**
 * A delivery that waits for a slot. `done` is called when this process has finished with the
 * delivery.
 */
export type Waiting = { readonly claimed: ClaimedDelivery; readonly done: () => void }

type Kind = 'first' | 'retry'
type Counts = Record<Kind, number>

/** The deliveries of one webhook in this process. */
type WebhookQueue = {
  readonly id: string
  readonly project: ProjectQueue
  readonly waiting: Record<Kind, Waiting[]>
  inFlight: number
}

/** The webhooks of one project that have a free slot and a waiting delivery, by kind. */
type ProjectQueue = {
  readonly id: string
  readonly ready: Record<Kind, LeastLoadedQueue<WebhookQueue>>
  waiting: number
  inFlight: number
}

/** Retries get at most three quarters of `all`. */
export const retryShare = (all: number): number => Math.ceil((all * 3) / 4)

/**
 * The deliveries that this process holds, and the order in which they get slots.
 *
 * The next slot goes to the kind (first attempts or retries) with fewer requests in flight, then
 * to the project with the fewest, then to that project's webhook with the fewest. Two limits keep
 * slots free:
 * - Retries hold at most three quarters of the slots.
 * - A project holds at most three times as many slots as it leaves free. The last free slot goes
 *   to a project with none in flight. So receivers that hang never take the last slot.
 *
 * No method visits all webhooks.
 */
export class FairQueue {
  readonly #policy: DeliverPolicy
  readonly #webhooks = new Map<string, WebhookQueue>()
  readonly #projects = new Map<string, ProjectQueue>()
  /** Projects with a webhook that has a free slot and a waiting delivery. */
  readonly #ready: Record<Kind, LeastLoadedQueue<ProjectQueue>> = {
    first: new LeastLoadedQueue(),
    retry: new LeastLoadedQueue(),
  }
  readonly #full = new Set<string>()
  readonly #waiting: Counts = { first: 0, retry: 0 }
  readonly #inFlight: Counts = { first: 0, retry: 0 }
  /** Waiting deliveries that count against `prefetch`. One project counts for at most half. */
  #buffered = 0

  constructor(policy: DeliverPolicy) {
    this.#policy = policy
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

  /** How many more deliveries can be claimed: at least the number of free slots. */
  get room(): number {
    return Math.max(this.#policy.prefetch - this.#buffered, this.#free)
  }

  /** The ids of webhooks and projects that have enough waiting. A live view. */
  get full(): ReadonlySet<string> {
    return this.#full
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

  /** Frees the slot of a delivery. */
  end(claimed: ClaimedDelivery): void {
    const queue = this.#queueOf(claimed)
    this.#countInFlight(queue, kindOf(claimed), -1)
    this.#reposition(queue)
  }

  /** Gives the webhook's waiting deliveries its new settings, except its health. */
  updateWebhook(webhook: Webhook): void {
    const queue = this.#webhooks.get(webhook.id)
    if (!queue) return
    for (const waiting of [queue.waiting.first, queue.waiting.retry]) {
      for (const [at, { claimed, done }] of waiting.entries())
        waiting[at] = { claimed: withSettings(claimed, webhook), done }
    }
  }

  /** Takes out the webhook's waiting deliveries, or only the one with the given id. */
  drop(webhookId: string, deliveryId?: string): Waiting[] {
    const queue = this.#webhooks.get(webhookId)
    if (!queue) return []
    const dropped = [...takeOut(queue.waiting.first, deliveryId)]
    dropped.push(...takeOut(queue.waiting.retry, deliveryId))
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

  #startKind(kind: Kind): Waiting | undefined {
    if (kind === 'retry' && this.#inFlight.retry >= retryShare(this.#policy.maxInFlight))
      return undefined
    const project = this.#ready[kind].first()
    if (!project || project.inFlight > 3 * (this.#free - 1)) return undefined
    const queue = project.ready[kind].first()
    const next = queue?.waiting[kind].shift()
    if (!queue || !next) return undefined
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
    queue.inFlight += by
  }

  /**
   * Updates the webhook's and its project's place after a change. Removes them when they are
   * empty.
   */
  #reposition(queue: WebhookQueue): void {
    const { project } = queue
    const { maxInFlightPerWebhook, prefetch } = this.#policy
    this.#repositionKind(queue, 'first')
    this.#repositionKind(queue, 'retry')
    const waiting = waitingOf(queue)
    this.#markFull(queue.id, waiting >= maxInFlightPerWebhook)
    this.#markFull(project.id, project.waiting >= prefetch / 2)
    if (queue.inFlight === 0 && waiting === 0) this.#webhooks.delete(queue.id)
    if (project.inFlight === 0 && project.waiting === 0) this.#projects.delete(project.id)
  }

  #repositionKind(queue: WebhookQueue, kind: Kind): void {
    const { project } = queue
    const hasSlot = queue.inFlight < this.#policy.maxInFlightPerWebhook
    if (queue.waiting[kind].length > 0 && hasSlot) project.ready[kind].put(queue, queue.inFlight)
    else project.ready[kind].remove(queue)
    if (project.ready[kind].first()) this.#ready[kind].put(project, project.inFlight)
    else this.#ready[kind].remove(project)
  }

  #markFull(id: string, isFull: boolean): void {
    if (isFull) this.#full.add(id)
    else this.#full.delete(id)
  }

  #queueOf({ webhook: { id, projectId } }: ClaimedDelivery): WebhookQueue {
    const known = this.#webhooks.get(id)
    if (known) return known
    const project = this.#projects.get(projectId) ?? emptyProject(projectId)
    this.#projects.set(projectId, project)
    const queue = { id, project, waiting: { first: [], retry: [] }, inFlight: 0 }
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
})

/** Keeps the health of the claim: it says whether this delivery is the circuit's probe. */
const withSettings = (claimed: ClaimedDelivery, webhook: Webhook): ClaimedDelivery => ({
  ...claimed,
  webhook: { ...webhook, health: claimed.webhook.health },
})

function takeOut(waiting: Waiting[], deliveryId?: string): Waiting[] {
  const all = waiting.splice(0)
  if (deliveryId === undefined) return all
  waiting.push(...all.filter(({ claimed }) => claimed.delivery.id !== deliveryId))
  return all.filter(({ claimed }) => claimed.delivery.id === deliveryId)
}
