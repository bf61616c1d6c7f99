import { ok, safeTry } from 'neverthrow'
import type { Instant } from '../domain/values/instant.js'
import { ofPage, type PageInput } from '../domain/values/page-rules.js'
import { shownParts } from '../domain/messages/shown-message.js'
import type { EventOf } from '../domain/webhooks/event.js'
import { isPublished, subscribesTo } from '../domain/webhooks/event-name.js'
import { broken, type Invalid } from '../domain/values/input-rules.js'
import { withoutInputUrl } from '../domain/values/input-url.js'
import { fail } from '../domain/values/fail.js'
import { cursorOf, markOf, placeOf, type LogPlace } from '../domain/webhooks/log-cursor.js'
import type { Platform, Reading } from '../platform.js'
import type { DeliveryFilter } from '../ports/delivery-store.js'
import type { EventsAfter, ListedEvent, LoggedEvent } from '../ports/event-store.js'
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
  /** True to read the parts of answers too. */
  readonly parts?: boolean | undefined
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

export type ListEventsInput = PageInput &
  Pick<DeliveryFilter, 'withoutHooks'> & {
    readonly projectId: string
    /** Names of events, and groups such as `order.*`. Absent: all events. */
    readonly types?: readonly string[] | undefined
    /** True leaves out the events of the service. */
    readonly published?: boolean | undefined
    readonly createdAfter?: Instant | undefined
    readonly createdBefore?: Instant | undefined
  }

/** Events that a page reads at most. */
const MOST_READ = 10_000
/** Events that are read together if a filter chooses among them. */
const STEP = 500
const isPlace = (cursor: string): boolean => /^[ps]\d{1,15}$/.test(cursor)

/** Lists events, newest first. A page that has read many ends early, with `lookedBackTo`. */
export const listEvents =
  (d: Reading) =>
  ({ projectId, limit: most, cursor, withoutHooks, ...filter }: ListEventsInput) =>
    ofPage(
      { limit: most, cursor },
      ({ limit, cursor: start }) =>
        safeTry(async function* () {
          const data: ListedEvent[] = []
          const isFiltered = Object.values(filter).some((value) => value !== undefined)
          const step = isFiltered ? STEP : limit + 1
          for (let [before, read] = [start, 0]; ;) {
            const query = { projectId, limit: step, before }
            const part = yield* chain(d.storage.events.newest(query))
            for (const event of part) {
              if (!isListed(event, filter)) continue
              const last = data.at(-1)
              if (data.length === limit && last) return ok({ data, nextCursor: last.place })
              data.push(withoutHooks ? yield* withoutHooksOf(d, projectId, event) : event)
            }
            const last = part.at(-1)
            read += part.length
            const isOver = part.every(({ createdAt }) => createdAt < (filter.createdAfter ?? 0))
            if (!last || part.length < step || isOver) return ok({ data, nextCursor: null })
            before = last.place
            if (read >= MOST_READ)
              return ok({ data, nextCursor: before, lookedBackTo: last.createdAt })
          }
        }),
      isPlace,
    )

/** The event, which has no delivery if all of its deliveries are of hooks. */
const withoutHooksOf = (d: Reading, projectId: string, event: ListedEvent) =>
  safeTry(async function* () {
    if (!event.hasDeliveries) return ok(event)
    const filter = { projectId, eventId: event.id, withoutHooks: true }
    const { data } = yield* chain(d.storage.deliveries.list(filter, { limit: 1 }))
    return ok({ ...event, hasDeliveries: data.length > 0 })
  })

const isListed = (
  { name, createdAt }: ListedEvent,
  {
    types,
    published = false,
    createdAfter = -Infinity,
    createdBefore = Infinity,
  }: Omit<ListEventsInput, 'projectId' | 'withoutHooks'>,
): boolean =>
  (types === undefined || subscribesTo(types, name)) &&
  (!published || isPublished(name)) &&
  createdAt >= createdAfter &&
  createdAt < createdBefore

/** The longest wait of one read. Proxies cut connections that are silent for a minute. */
const MOST_WAIT_MS = 60_000
const DEFAULT_LIMIT = 50

export const readEvents =
  (d: Pick<Platform, 'clock' | 'shared' | 'storage'> & { readonly eventReaders: EventReaders }) =>
  ({ projectId, after, limit = DEFAULT_LIMIT, waitMs = 0, abort, parts }: ReadEventsInput) =>
    safeTry(async function* () {
      const sent = after === undefined ? undefined : placeOf(projectId, after)
      const isCursor = after === undefined || sent !== undefined
      const problem = broken({ after: isCursor ? undefined : 'must be a cursor of the log' })
      if (problem) return problem
      if (sent === 'foreign') return fail('event_cursor_expired')
      let place = sent
      const deadline = d.clock.elapsed() + Math.min(waitMs, MOST_WAIT_MS)
      for (;;) {
        const page = yield* d.shared(pageOf(d))({ projectId, limit, parts, ...fromPlace(place) })
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
const PART_WITH_PARTS = 4

/** Returns the page up to the event that reaches the limit of text. */
const pageOf = (d: Reading) => (query: EventsAfter & Pick<ReadEventsInput, 'parts'>) =>
  safeTry(async function* () {
    const events: LoggedEvent[] = []
    const { projectId, after, mark, parts } = query
    const most = parts ? PART_WITH_PARTS : PART
    let [text, next] = [0, after]
    for (;;) {
      const limit = Math.min(most, query.limit - events.length)
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
      const found = parts ? yield* withParts(d.storage, part.events) : part.events
      events.push(...found)
      next = part.next
      for (const { body } of found) text += body.length
      if (part.events.length < limit || events.length >= query.limit || text >= MOST_TEXT)
        return ok({ events, next })
    }
  })

/** Adds the stored parts of answers to the bodies of `message.responded`. */
const withParts = (
  { messages }: Pick<Platform['storage'], 'messages'>,
  events: readonly LoggedEvent[],
) =>
  safeTry(async function* () {
    const answers = events
      .filter(({ name }) => name === 'message.responded')
      .map(({ body }) => JSON.parse(body) as EventOf<'message.responded'>)
    const stored = yield* chain(messages.parts(answers.map(({ data }) => data.messageId)))
    const bodies = new Map<string, string>()
    for (const { data, ...answer } of answers) {
      const parts = stored.get(data.messageId)
      if (parts)
        bodies.set(
          answer.id,
          JSON.stringify({ ...answer, data: { ...data, ...shownParts(parts) } }),
        )
    }
    return ok(events.map((event) => ({ ...event, body: bodies.get(event.id) ?? event.body })))
  })
