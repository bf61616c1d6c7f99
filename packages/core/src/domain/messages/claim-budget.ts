import type { Instant } from '../values/instant.js'

type Limits = {
  readonly limit: number
  readonly retries: number
  readonly perWebhook: number
  readonly perProject: number
  /** A lower limit than `perWebhook`, by the webhook's id. */
  readonly rooms: Pick<ReadonlyMap<string, number>, 'get'>
}
/** `isHalfOpen`: the webhook's circuit admits one delivery, the probe. */
type Candidate = {
  readonly id: string
  readonly projectId: string
  readonly isHalfOpen: boolean
}
type Due = { readonly dueAt: Instant }
type Share<T> = {
  /** The deliveries to claim, the longest due first. */
  readonly deliveries: readonly T[]
  /** How many of them were attempted before. */
  readonly retries: number
}

/**
 * Shares one claim of due deliveries between webhooks. The claim has a limit for all deliveries,
 * for retries, for each webhook and for each project. A store offers the due deliveries of one
 * webhook after the other, until the budget is spent.
 */
export class ClaimBudget {
  readonly #limits: Limits
  #left: number
  #retriesLeft: number
  readonly #leftOfProject = new Map<string, number>()
  readonly #filled: string[] = []

  constructor(limits: Limits) {
    this.#limits = limits
    this.#left = limits.limit
    this.#retriesLeft = limits.retries
  }

  get left(): number {
    return Math.max(0, this.#left)
  }

  /** The webhooks that got as many deliveries as their `rooms` allow. */
  get filled(): readonly string[] {
    return this.#filled
  }

  /** The projects that got as many deliveries as one project can. */
  get spentProjects(): readonly string[] {
    return [...this.#leftOfProject].filter(([, left]) => left <= 0).map(([id]) => id)
  }

  /** The retries that a webhook with room for `deliveries` can get. */
  retriesAmong(deliveries: number): number {
    return Math.max(0, Math.min(deliveries, this.#retriesLeft))
  }

  /** The deliveries that the webhook can get. */
  roomFor({ id, projectId, isHalfOpen }: Candidate): number {
    const { perWebhook, perProject, rooms } = this.#limits
    const ofProject = this.#leftOfProject.get(projectId) ?? perProject
    const ofWebhook = isHalfOpen ? 1 : Math.min(perWebhook, rooms.get(id) ?? perWebhook)
    return Math.max(0, Math.min(this.#left, ofProject, ofWebhook))
  }

  /**
   * Chooses deliveries of one webhook and spends the budget. `firsts` are due first attempts and
   * `retries` due retries, each in the order in which they are due. A probe is a retry if one is
   * due: a receiver that fails each first attempt accepts that one.
   */
  take<T extends Due>(webhook: Candidate, firsts: readonly T[], retries: readonly T[]): Share<T> {
    const room = this.roomFor(webhook)
    const allowed = new Set(retries.slice(0, this.retriesAmong(room)))
    const isRetried = webhook.isHalfOpen && allowed.size > 0
    const deliveries = [...(isRetried ? [] : firsts.slice(0, room)), ...allowed]
      .sort((a, b) => a.dueAt - b.dueAt)
      .slice(0, room)
    const retried = deliveries.filter((one) => allowed.has(one)).length
    const { id, projectId, isHalfOpen } = webhook
    const roomOfWebhook = this.#limits.rooms.get(id) ?? Infinity
    if (!isHalfOpen && deliveries.length >= roomOfWebhook) this.#filled.push(id)
    const ofProject = this.#leftOfProject.get(projectId) ?? this.#limits.perProject
    this.#left -= deliveries.length
    this.#retriesLeft -= retried
    this.#leftOfProject.set(projectId, ofProject - deliveries.length)
    return { deliveries, retries: retried }
  }
}
