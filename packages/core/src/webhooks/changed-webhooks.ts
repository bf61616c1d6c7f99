import type { Webhook } from '../domain/webhooks/webhook.js'
import type { ClaimedDelivery } from '../ports/delivery-store.js'
import type { Clock } from '../ports/platform.js'

/** A claim or a commit that began before a change has ended after this time. */
const KEEP_MS = 60_000

type Change = {
  readonly webhook: Webhook | 'deleted'
  readonly number: number
  readonly until: number
}

/** True if the webhook's deliveries are kept for later. */
export const isHeld = ({ status, isPaused }: Webhook): boolean =>
  status.kind === 'disabled' || isPaused

/** Gives the delivery new settings. Keeps the health: it says whether the delivery is a probe. */
export const withSettings = (claimed: ClaimedDelivery, webhook: Webhook): ClaimedDelivery => ({
  ...claimed,
  webhook: { ...webhook, health: claimed.webhook.health },
})

/**
 * Webhooks that changed a moment ago. A claim that began before the change can end after it, with
 * the old settings.
 */
export class ChangedWebhooks {
  readonly #clock: Pick<Clock, 'elapsed'>
  /** The oldest change comes first. */
  readonly #changes = new Map<string, Change>()
  #count = 0

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /** The number of changes so far. Give it to `apply` with the deliveries of a later claim. */
  get count(): number {
    return this.#count
  }

  note(webhookId: string, webhook: Webhook | 'deleted'): void {
    const now = this.#clock.elapsed()
    for (const [id, { until }] of this.#changes) {
      if (until > now) break
      this.#changes.delete(id)
    }
    this.#changes.delete(webhookId)
    this.#changes.set(webhookId, { webhook, number: ++this.#count, until: now + KEEP_MS })
  }

  hasChanged(webhookId: string, since: number): boolean {
    return (this.#changes.get(webhookId)?.number ?? 0) > since
  }

  /** Applies the changes after `since`. Returns undefined if the delivery must not be sent. */
  apply(claimed: ClaimedDelivery, since: number): ClaimedDelivery | undefined {
    const change = this.#changes.get(claimed.webhook.id)
    if (!change || change.number <= since) return claimed
    const { webhook } = change
    return webhook === 'deleted' || isHeld(webhook) ? undefined : withSettings(claimed, webhook)
  }
}
