import type { EventName, EventOf } from '../domain/webhooks/event.js'
import type { PublishedBody } from '../domain/webhooks/published-event.js'
import { toIso } from '../domain/values/instant.js'
import type { ListedEvent } from '../ports/event-store.js'
import type { EventsOfLog } from '../webhooks/read-events.js'

/** A page of the log. Each event has the content that webhooks get. */
export type ShownEvents = {
  /** Continue after an event with its `cursor`. */
  readonly data: readonly {
    readonly cursor: string
    readonly event: EventOf<EventName> | PublishedBody
  }[]
  readonly nextCursor: string
}

/** An event of the service, or a published one. */
export type ShownEvent = EventOf<EventName> | PublishedBody

/** The content that webhooks get. */
export const shownEvent = ({ body }: { readonly body: string }): ShownEvent => JSON.parse(body)

export const shownEvents = ({ data, nextCursor }: EventsOfLog): ShownEvents => ({
  data: data.map(({ cursor, body }) => ({ cursor, event: shownEvent({ body }) })),
  nextCursor,
})

/** An event in a list. */
export type ShownListedEvent = {
  readonly id: string
  readonly event: string
  readonly createdAt: string
  readonly hasDeliveries: boolean
}
export const shownListedEvent = ({
  id,
  name,
  createdAt,
  hasDeliveries,
}: ListedEvent): ShownListedEvent => ({
  id,
  event: name,
  createdAt: toIso(createdAt),
  hasDeliveries,
})
