import type { EventName, EventOf } from '../domain/webhooks/event.js'
import type { PublishedBody } from '../domain/webhooks/published-event.js'
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

export const shownEvents = ({ data, nextCursor }: EventsOfLog): ShownEvents => ({
  data: data.map(({ cursor, body }) => ({ cursor, event: JSON.parse(body) })),
  nextCursor,
})
