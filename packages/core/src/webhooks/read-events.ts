import { ok, safeTry } from 'neverthrow'
import { broken, type Invalid } from '../domain/values/input-rules.js'
import { withoutInputUrl } from '../domain/values/input-url.js'
import { fail } from '../domain/values/fail.js'
import { cursorOf, markOf, placeOf, type LogPlace } from '../domain/webhooks/log-cursor.js'
import type { Platform, Reading } from '../platform.js'
import type { EventsAfter, LoggedEvent } from '../ports/event-store.js'
import type { Unavailable } from '../ports/stored.js'
import type { EventReaders, Reader } from './event-readers.js'
import { chain, existing } from '../pacing/chain.js'

export type ReadEventsInput = {
  readonly projectId: string
  /** The `nextCursor` of a page, or the `cursor` of an event. Absent: the oldest event. */
  readonly after?: string | undefined
  /** The most events of the page. Default: 50. */
  readonly limit?: number | undefined
  /** Waits this long for an event if there is none. 0 does not wait. */
  readonly waitMs?: number | undefined
  /** Ends the wait. */
  readonly abort?: Reader | undefined
}

/**
 * An event of the log. `body` has the same characters as the bodies of its deliveries,
 * without the one-time link of a question.
 */
export type EventOfLog = Pick<LoggedEvent, 'id' | 'name' | 'body'> & { readonly cursor: string }
export type EventsOfLog = { readonly data: readonly EventOfLog[]; readonly nextCursor: string }
export type ReadEventsError = Unavailable | Invalid | { readonly kind: 'event_cursor_expired' }

export type EventRef = { readonly projectId: string; readonly eventId: string }

export const getEvent =
  ({ storage }: Reading) =>
  ({ projectId, eventId }: EventRef) =>
    existing(storage.events.get(projectId, eventId), 'event_not_found').map((event) => ({
      ...event,
      body: withoutInputUrl(event.body),
    }))

/** The longest wait of one read. Proxies cut connections that are silent for a minute. */
const MOST_WAIT_MS = 60_000
const DEFAULT_LIMIT = 50

export const readEvents =
  (d: Pick<Platform, 'clock' | 'shared' | 'storage'> & { readonly eventReaders: EventReaders }) =>
  ({ projectId, after, limit = DEFAULT_LIMIT, waitMs = 0, abort }: ReadEventsInput) =>
    safeTry(async function* () {
      const sent = after === undefined ? undefined : placeOf(projectId, after)
      const isCursor = after === undefined || sent !== undefined
      const problem = broken({ after: isCursor ? undefined : 'must be a cursor of the log' })
      if (problem) return problem
      if (sent === 'foreign') return fail('event_cursor_expired')
      let place = sent
      const deadline = d.clock.elapsed() + Math.min(waitMs, MOST_WAIT_MS)
      for (;;) {
        const page = yield* d.shared(pageOf(d))({ projectId, limit, ...fromPlace(place) })
        if (page === 'expired') return fail('event_cursor_expired')
        const last = page.events.at(-1)
        if (last) place = placeAt(last)
        else place ??= { position: page.next }
        const waits = page.events.length === 0 && !abort?.aborted
        if (!waits || !(await d.eventReaders.wait(projectId, place.position, deadline, abort)))
          return ok({
            data: page.events.map(eventOf(projectId)),
            nextCursor: cursorOf(projectId, place),
          })
      }
    })

const eventOf =
  (projectId: string) =>
  (event: LoggedEvent): EventOfLog => {
    const { id, name, body } = event
    return { cursor: cursorOf(projectId, placeAt(event)), id, name, body: withoutInputUrl(body) }
  }

const placeAt = ({ position, id }: LoggedEvent): LogPlace => ({ position, mark: markOf(id) })

const fromPlace = (place: LogPlace | undefined) =>
  place === undefined
    ? {}
    : { after: place.position, ...(place.mark !== undefined && { mark: place.mark }) }

/** UTF-16 units. A page of the largest events would have a hundred times as many. */
const MOST_TEXT = 2 * 1024 * 1024
/** Events per read of the storage. */
const PART = 20

/** Returns the page up to the event that reaches the limit of text. */
const pageOf = (d: Reading) => (query: EventsAfter) =>
  safeTry(async function* () {
    const events: LoggedEvent[] = []
    const { projectId, after, mark } = query
    let [text, next] = [0, after]
    for (;;) {
      const limit = Math.min(PART, query.limit - events.length)
      const part = yield* chain(
        d.storage.events.list({
          projectId,
          limit,
          ...(next !== undefined && { after: next }),
          ...(next === after && mark !== undefined && { mark }),
        }),
      )
      // A purge can expire the position between two reads. The next page then says so.
      if (part === 'expired')
        return ok(next === undefined || events.length === 0 ? part : { events, next })
      events.push(...part.events)
      next = part.next
      for (const { body } of part.events) text += body.length
      if (part.events.length < limit || events.length >= query.limit || text >= MOST_TEXT)
        return ok({ events, next })
    }
  })
