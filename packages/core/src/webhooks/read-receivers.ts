import { ok, safeTry } from 'neverthrow'
import {
  MOST_OPEN,
  storyOfDelivery,
  type SentDelivery,
  type Story,
} from '../domain/messages/story.js'
import { chain } from '../pacing/chain.js'
import type { Platform, Reading } from '../platform.js'
import type { DeliveryDetail } from '../ports/delivery-store.js'
import type { ReadWebhook, Webhook } from '../domain/webhooks/webhook.js'
import { getDelivery, type DeliveryRef } from './manage-deliveries.js'
import { withFailures } from './manage-webhooks.js'

/** A delivery with its webhook, and in words why the receiver does not have it. */
export type DeliveryStory = {
  readonly detail: DeliveryDetail
  /** Undefined if it was deleted, or is the hook of a message. */
  readonly webhook: ReadWebhook | undefined
  readonly story: Story
}

export const readDeliveryStory = (d: Pick<Platform, 'clock' | 'storage'>) => (ref: DeliveryRef) =>
  safeTry(async function* () {
    const { projectId } = ref
    const detail = yield* getDelivery(d)(ref)
    const found = yield* chain(d.storage.webhooks.get(projectId, detail.delivery.webhookId))
    const receivers = yield* readReceivers(d, projectId, found ? [found] : [], [detail])
    const story = storyOfDelivery(detail, receivers, { now: d.clock.now() })
    return ok({ detail, webhook: receivers.webhooks[0], story } satisfies DeliveryStory)
  })

/** Counts the open deliveries of the failing webhooks that one of the deliveries waits for. */
export const readReceivers = (
  d: Reading,
  projectId: string,
  webhooks: readonly Webhook[],
  deliveries: readonly SentDelivery[],
) =>
  safeTry(async function* () {
    const missing = deliveries.filter(({ delivery }) => delivery.state.kind !== 'delivered')
    const waitsFor = new Set(missing.map(({ delivery }) => delivery.webhookId))
    const failing = webhooks.filter(
      ({ id, health }) => health.consecutiveFailures > 0 && waitsFor.has(id),
    )
    const ids = failing.map(({ id }) => id)
    const open = yield* chain(d.storage.deliveries.countOpen(projectId, ids, MOST_OPEN))
    return ok({ deliveries, webhooks: yield* withFailures(d, projectId, webhooks), open })
  })
