import type { Webhook } from '../domain/webhook.js'
import type { ClaimedDelivery } from '../ports/delivery-store.js'
import type { DeliverPolicy } from '../policy.js'
import { createLoadQueue, type LoadQueue } from './load-queue.js'

/** A delivery that waits for its turn. `done` is called when nothing more happens to it here. */
export type Waiting = { readonly claimed: ClaimedDelivery; readonly done: () => void }

/**
 * The deliveries that this process holds, and whose turn it is. Of first attempts and retries, and then of projects, and
 * then of webhooks, the one with the fewest requests in flight is next. Retries may have three quarters of the slots; a project
 * three times as many as it leaves free, so three quarters if it is alone, and the last one goes to a project that has none:
 * however many have receivers that hang, there is a slot for one more. No call looks at all webhooks.
 */
export type Turns = {
  readonly waiting: number
  readonly waitingRetries: number
  /**
   * How many more may be claimed: as many as there are free slots, whatever waits. One project counts for half of the buffer at
   * most, however much of it came at once.
   */
  readonly room: number
  readonly inFlight: number
  /** Ids of the webhooks and the projects of which enough is waiting. Always as it is now. */
  readonly full: ReadonlySet<string>
  add(waiting: Waiting): void
  /** The next one, in flight from now on; undefined when nothing may start. */
  start(): Waiting | undefined
  end(claimed: ClaimedDelivery): void
  /** What waits for this webhook will see it as it is given here, but for its health. */
  renew(webhook: Webhook): void
  /** Takes out what waits for this webhook, or this delivery alone. */
  drop(webhookId: string, deliveryId?: string): Waiting[]
  /** Takes out all that waits. */
  clear(): Waiting[]
}

type Kind = 'first' | 'retry'
type Project = {
  readonly id: string
  readonly lanes: Record<Kind, LoadQueue<Lane>>
  waiting: number
  inFlight: number
}
/** What is held of one webhook. */
type Lane = {
  readonly id: string
  readonly project: Project
  readonly queues: Record<Kind, Waiting[]>
  inFlight: number
}

/** The share that retries may have of what there is. */
export const retryShare = (all: number): number => Math.ceil((all * 3) / 4)

const kindOf = ({ delivery }: ClaimedDelivery): Kind =>
  delivery.attemptCount > 0 ? 'retry' : 'first'
const lengthOf = ({ queues }: Lane): number => queues.first.length + queues.retry.length

export function createTurns({
  maxInFlight,
  maxInFlightPerWebhook,
  prefetch,
}: DeliverPolicy): Turns {
  const lanes = new Map<string, Lane>()
  const projects = new Map<string, Project>()
  /** Those with a webhook that is below its cap and has something waiting. */
  const ready: Record<Kind, LoadQueue<Project>> = {
    first: createLoadQueue(),
    retry: createLoadQueue(),
  }
  const full = new Set<string>()
  const waiting: Record<Kind, number> = { first: 0, retry: 0 }
  const inFlight: Record<Kind, number> = { first: 0, retry: 0 }
  /** Of what waits, as much as counts against the buffer: of one project no more than half of that. */
  let buffered = 0

  const free = (): number => maxInFlight - inFlight.first - inFlight.retry

  function laneOf({ webhook: { id, projectId } }: ClaimedDelivery): Lane {
    const project = projects.get(projectId) ?? newProject(projectId)
    projects.set(projectId, project)
    const lane = lanes.get(id) ?? { id, project, queues: { first: [], retry: [] }, inFlight: 0 }
    lanes.set(id, lane)
    return lane
  }

  function count(lane: Lane, kind: Kind, by: { waiting?: 1 | -1; inFlight?: 1 | -1 }): void {
    waiting[kind] += by.waiting ?? 0
    buffered -= Math.min(lane.project.waiting, prefetch / 2)
    lane.project.waiting += by.waiting ?? 0
    buffered += Math.min(lane.project.waiting, prefetch / 2)
    inFlight[kind] += by.inFlight ?? 0
    lane.project.inFlight += by.inFlight ?? 0
    lane.inFlight += by.inFlight ?? 0
  }

  /** Puts the webhook and its project where they belong after any change. */
  function settle(lane: Lane): void {
    const { project } = lane
    settleReady(lane, 'first')
    settleReady(lane, 'retry')
    mark(lane.id, lengthOf(lane) >= maxInFlightPerWebhook)
    mark(project.id, project.waiting >= prefetch / 2)
    if (lane.inFlight === 0 && lengthOf(lane) === 0) lanes.delete(lane.id)
    if (project.inFlight === 0 && project.waiting === 0) projects.delete(project.id)
  }

  function settleReady(lane: Lane, kind: Kind): void {
    const { project } = lane
    if (lane.queues[kind].length > 0 && lane.inFlight < maxInFlightPerWebhook)
      project.lanes[kind].put(lane, lane.inFlight)
    else project.lanes[kind].remove(lane)
    if (project.lanes[kind].first()) ready[kind].put(project, project.inFlight)
    else ready[kind].remove(project)
  }

  function mark(id: string, isFull: boolean): void {
    if (isFull) full.add(id)
    else full.delete(id)
  }

  function nextOf(kind: Kind): Waiting | undefined {
    if (kind === 'retry' && inFlight.retry >= retryShare(maxInFlight)) return undefined
    const project = ready[kind].first()
    if (!project || project.inFlight > 3 * (free() - 1)) return undefined
    const lane = project.lanes[kind].first()
    const next = lane?.queues[kind].shift()
    if (!lane || !next) return undefined
    count(lane, kind, { waiting: -1, inFlight: 1 })
    settle(lane)
    return next
  }

  function drop(webhookId: string, deliveryId?: string): Waiting[] {
    const lane = lanes.get(webhookId)
    if (!lane) return []
    const isMeant = ({ claimed }: Waiting): boolean =>
      deliveryId === undefined || claimed.delivery.id === deliveryId
    const dropped = [lane.queues.first, lane.queues.retry].flatMap((queue) =>
      takeOut(queue, isMeant),
    )
    for (const { claimed } of dropped) count(lane, kindOf(claimed), { waiting: -1 })
    settle(lane)
    return dropped
  }

  return {
    full,
    get waiting() {
      return waiting.first + waiting.retry
    },
    get waitingRetries() {
      return waiting.retry
    },
    get room() {
      return Math.max(prefetch - buffered, free())
    },
    get inFlight() {
      return inFlight.first + inFlight.retry
    },
    add(one) {
      const [lane, kind] = [laneOf(one.claimed), kindOf(one.claimed)]
      lane.queues[kind].push(one)
      count(lane, kind, { waiting: 1 })
      settle(lane)
    },
    start() {
      return inFlight.first <= inFlight.retry
        ? (nextOf('first') ?? nextOf('retry'))
        : (nextOf('retry') ?? nextOf('first'))
    },
    end(claimed) {
      const lane = laneOf(claimed)
      count(lane, kindOf(claimed), { inFlight: -1 })
      settle(lane)
    },
    renew(webhook) {
      const lane = lanes.get(webhook.id)
      if (!lane) return
      for (const queue of [lane.queues.first, lane.queues.retry]) {
        for (const [at, { claimed, done }] of queue.entries())
          queue[at] = { claimed: renewed(claimed, webhook), done }
      }
    },
    drop,
    clear: () => [...lanes.keys()].flatMap((webhookId) => drop(webhookId)),
  }
}

/** What was claimed as a probe stays one, and nothing else becomes one: so its health is that of the claim. */
const renewed = (claimed: ClaimedDelivery, webhook: Webhook): ClaimedDelivery => ({
  ...claimed,
  webhook: { ...webhook, health: claimed.webhook.health },
})

function takeOut(queue: Waiting[], isMeant: (one: Waiting) => boolean): Waiting[] {
  const all = queue.splice(0)
  queue.push(...all.filter((one) => !isMeant(one)))
  return all.filter(isMeant)
}

const newProject = (id: string): Project => ({
  id,
  lanes: { first: createLoadQueue(), retry: createLoadQueue() },
  waiting: 0,
  inFlight: 0,
})
