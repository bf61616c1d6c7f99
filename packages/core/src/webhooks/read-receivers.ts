import { ok, ResultAsync, safeTry } from 'neverthrow'
import {
  MOST_OPEN,
  storyOfDelivery,
  storyOfEvent,
  type Receivers,
  type SentDelivery,
  type Story,
} from '../domain/messages/story.js'
import { given } from '../domain/values/given.js'
import { chain } from '../pacing/chain.js'
import type { Platform, Reading } from '../platform.js'
import type { DeliveryDetail, DeliveryFilter } from '../ports/delivery-store.js'
import type { WebhookDelivery } from '../domain/webhooks/delivery.js'
import { isPublished } from '../domain/webhooks/event-name.js'
import { seenEvent } from '../domain/webhooks/missed-event.js'
import type { StoredEvent } from '../ports/event-store.js'
import type { ReadWebhook, Webhook } from '../domain/webhooks/webhook.js'
import { getDelivery, type DeliveryRef } from './manage-deliveries.js'
import { withFailures } from './manage-webhooks.js'
import { getEvent, type EventRef } from './read-events.js'

/** An event with its deliveries, and in words why webhooks do not have it. */
export type EventStory = {
  readonly event: StoredEvent
  readonly receivers: Receivers
  readonly story: Story
}

export type EventStoryRef = EventRef & Pick<DeliveryFilter, 'withoutHooks'>

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

export const readEventStory = (d: Needed) => (ref: EventStoryRef) =>
  safeTry(async function* () {
    const { projectId, eventId, withoutHooks } = ref
    const event = yield* getEvent(d)(ref)
    const { agentId, messageId } = isPublished(event.name) ? {} : seenEvent(event.name, event)
    const of = agentId !== undefined && messageId !== undefined ? { agentId, messageId } : undefined
    const receivers = yield* receiversOf(d, { projectId, eventId, withoutHooks, ...of })
    const story = storyOfEvent({ event, receivers, now: d.clock.now() })
    return ok({ event, receivers, story } satisfies EventStory)
  })

type Needed = Pick<Platform, 'clock' | 'policy' | 'storage'>
/** Deliveries of each webhook, on average. */
const MOST_DELIVERIES = 5
/** Deliveries whose attempts are read. */
const MOST_DETAILS = 25

type Cause = Pick<DeliveryFilter, 'withoutHooks'> & {
  readonly projectId: string
  readonly eventId?: string
  readonly agentId?: string
  readonly messageId?: string
}

/**
 * Returns the deliveries of a message or an event, and all webhooks that could have one. Reads the
 * attempts of deliveries that were not accepted first.
 */
export const receiversOf = (
  d: Needed,
  { projectId, eventId, agentId, messageId, withoutHooks }: Cause,
) =>
  safeTry(async function* () {
    const { deliveries, webhooks } = d.storage
    const limit = d.policy.limits.webhooksPerProject
    const cause = eventId === undefined ? given({ messageId }) : { eventId }
    const filter = { projectId, withoutHooks, ...cause }
    const { data } = yield* chain(deliveries.list(filter, { limit: MOST_DELIVERIES * limit }))
    const isThere = ({ state }: WebhookDelivery) => Number(state.kind === 'delivered')
    const first = data.toSorted((a, b) => isThere(a) - isThere(b)).slice(0, MOST_DETAILS)
    const details = yield* ResultAsync.combine(
      first.map(({ id }) => chain(deliveries.get(projectId, id))),
    )
    const byId = new Map(details.map((detail) => [detail?.delivery.id, detail]))
    const sent = data.map((delivery) => byId.get(delivery.id) ?? { delivery, attempts: [] })
    const all = yield* chain(webhooks.list(projectId, { limit }))
    const hooks =
      withoutHooks || agentId === undefined || messageId === undefined
        ? []
        : yield* chain(webhooks.hooksOf({ projectId, agentId, messageId }))
    return readReceivers(d, projectId, [...hooks, ...all.data], sent)
  })

/** Counts the open deliveries of the failing webhooks that one of the deliveries waits for. */
const readReceivers = (
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
