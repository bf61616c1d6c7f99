import type { ClaimedDelivery } from '../ports/delivery-store.js'
import type { FairQueue } from './fair-queue.js'

/** The rooms of webhooks as a claim asked for them. They change while the claim runs. */
export class AskedRooms {
  readonly #queue: Pick<FairQueue, 'roomOf'>
  readonly #rooms = new Map<string, number>()

  constructor(queue: Pick<FairQueue, 'roomOf'>) {
    this.#queue = queue
  }

  readonly get = (webhookId: string): number => {
    const room = this.#rooms.get(webhookId) ?? this.#queue.roomOf(webhookId)
    this.#rooms.set(webhookId, room)
    return room
  }

  /** Returns the webhooks whose rooms the claim filled. More of their deliveries can be due. */
  filledBy(claimed: readonly ClaimedDelivery[]): string[] {
    const counts = new Map<string, number>()
    for (const { webhook } of claimed) counts.set(webhook.id, (counts.get(webhook.id) ?? 0) + 1)
    return [...this.#rooms].filter(([id, room]) => (counts.get(id) ?? 0) >= room).map(([id]) => id)
  }
}
