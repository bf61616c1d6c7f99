import { eventOf } from './event-of.js'
import { groupBy } from './group-by.js'
import type { AskedEvent, FinalEvent, History, PublishRequest } from './history.js'
import type { Breach, Invariant } from './violation.js'

/**
 * 13. Each event with a 202 is in the log once, as it was published. A repeated request is told so,
 * and other content with a known id is refused. A request is stored whole or not at all. Events of a
 * session are in the log in the order in which they were published.
 */
export const published: Invariant = function* (history) {
  if (history.final.purgedBefore !== undefined) return
  const known = new Known(history)
  yield* doubled(history.final.events ?? [])
  yield* erasedAll(history, known)
  for (const request of history.published ?? []) {
    if (request.events.some(({ endUserId }) => known.isErased(endUserId))) continue
    yield* storedAsAsked(request, known)
    yield* answeredRight(request, known)
    yield* allOrNone(request, known)
  }
  yield* toldOnce(history, known)
  yield* inOrder(history, known)
}

export const isPublished = ({ answer }: PublishRequest): boolean => answer?.status === 202

/** The events of a history by their texts. A text belongs to one event with one content. */
class Known {
  readonly stored: ReadonlyMap<string, FinalEvent>
  readonly places: ReadonlyMap<string, number>
  readonly #idTexts: ReadonlyMap<string, string>
  readonly #erased: ReadonlySet<string>
  readonly #firstAsked = new Map<string, number>()
  readonly #firstAccepted = new Map<string, number>()
  readonly #requests: ReadonlyMap<string, readonly PublishRequest[]>

  constructor({ published: requests = [], erasures = [], final: { events = [] } }: History) {
    this.stored = new Map(events.map((event) => [event.text, event]))
    this.places = new Map(events.map(({ text }, place) => [text, place]))
    this.#idTexts = new Map(events.map(({ id, text }) => [id, text]))
    this.#erased = new Set(erasures.map(({ endUserId }) => endUserId))
    const byText = new Map<string, PublishRequest[]>()
    for (const request of requests)
      for (const { text } of request.events) {
        byText.set(text, [...(byText.get(text) ?? []), request])
        keepLeast(this.#firstAsked, text, request.at)
        if (isPublished(request)) keepLeast(this.#firstAccepted, text, request.answer?.at ?? 0)
      }
    this.#requests = byText
  }

  isErased(endUserId: string | undefined): boolean {
    return endUserId !== undefined && this.#erased.has(endUserId)
  }
  requestsOf(text: string): readonly PublishRequest[] {
    return this.#requests.get(text) ?? []
  }
  askedAt(text: string): number {
    return this.#firstAsked.get(text) ?? Infinity
  }
  acceptedAt(text: string): number {
    return this.#firstAccepted.get(text) ?? Infinity
  }
  /** The text of the stored event with this id. */
  textOf(id: string | undefined): string | undefined {
    return id === undefined ? undefined : this.#idTexts.get(id)
  }
}

function keepLeast(times: Map<string, number>, text: string, at: number): void {
  times.set(text, Math.min(times.get(text) ?? Infinity, at))
}

function* doubled(events: readonly FinalEvent[]): Generator<Breach> {
  for (const field of ['id', 'text'] as const)
    for (const [of, same] of groupBy(events, (event) => event[field]))
      if (same.length > 1)
        yield { of, problem: `${same.length} events of the log have one ${field}` }
}

function* storedAsAsked(request: PublishRequest, { stored }: Known): Generator<Breach> {
  if (!isPublished(request)) return
  for (const event of request.events) {
    const found = stored.get(event.text)
    if (!found) yield { of: event.text, problem: 'a client got 202, but the log has no such event' }
    else if (!isSame(event, found))
      yield { of: event.text, problem: 'the event of the log differs from the published one' }
  }
}

const isSame = (asked: AskedEvent, { id, type, agentId, sessionId }: FinalEvent): boolean =>
  (asked.id ?? id) === id &&
  asked.type === type &&
  asked.agentId === agentId &&
  asked.sessionId === sessionId

function* answeredRight(request: PublishRequest, known: Known): Generator<Breach> {
  const { at, events, answer } = request
  if (!answer || answer.status >= 500) return
  const of = nameOf(request)
  const other = events.filter(({ id, text }) => (known.textOf(id) ?? text) !== text)
  const isTooLate = other.some(({ id }) => known.acceptedAt(known.textOf(id) ?? '') < at)
  if (answer.status === 202 && isTooLate)
    yield { of, problem: 'an id was accepted again with other content' }
  if (answer.status === 422 && other.length === 0)
    yield { of, problem: 'a request was refused, but no other event has its ids' }
  if (answer.status !== 202 && answer.status !== 422)
    yield { of, problem: `a request was refused with ${answer.status}` }
  const isRepeated = events.every(({ text }) => known.acceptedAt(text) < at)
  if (answer.status === 202 && isRepeated && !answer.replayed)
    yield { of, problem: 'a repeated request was answered as a new one' }
}

/** Returns what differs between two requests. */
const nameOf = ({ events }: PublishRequest): string => events.map(({ text }) => text).join(', ')

/** Of the same requests, at most one is not a replay. */
function* toldOnce({ published: requests = [] }: History, known: Known): Generator<Breach> {
  const fresh = requests
    .filter((request) => isPublished(request) && !request.answer?.replayed)
    .filter(({ events }) => !events.some(({ endUserId }) => known.isErased(endUserId)))
  for (const [of, same] of groupBy(fresh, nameOf))
    if (same.length > 1) yield { of, problem: `${same.length} answers say that it is new` }
}

/** Events that other requests have too can be stored by those. */
function* allOrNone(request: PublishRequest, known: Known): Generator<Breach> {
  const name = nameOf(request)
  const own = request.events.filter(({ text }) =>
    known.requestsOf(text).every((one) => nameOf(one) === name),
  )
  const places = own.flatMap(({ text }) => known.places.get(text) ?? [])
  if (places.length !== 0 && places.length !== own.length)
    yield { of: name, problem: `${places.length} of its ${own.length} events are stored` }
  if (places.some((place, n) => place < (places[n - 1] ?? 0)))
    yield { of: name, problem: 'its events are in the log in another order' }
}

function* inOrder({ final: { events = [] } }: History, known: Known): Generator<Breach> {
  const ordered = events.filter(
    ({ sessionId, text }) =>
      sessionId !== undefined &&
      !known.requestsOf(text).some((one) => one.events.some((e) => known.isErased(e.endUserId))),
  )
  for (const session of groupBy(
    ordered,
    ({ agentId, sessionId }) => `${agentId} ${sessionId}`,
  ).values()) {
    let lastAsked = -Infinity
    for (const { text } of session) {
      if (known.acceptedAt(text) < lastAsked)
        yield { of: text, problem: 'the log has it after a later event of its session' }
      lastAsked = Math.max(lastAsked, known.askedAt(text))
    }
  }
}

/** A request without an answer can take effect after the erasure. */
function* erasedAll(
  { published: requests = [], erasures = [], final }: History,
  known: Known,
): Generator<Breach> {
  const done = new Map(
    erasures.flatMap(({ endUserId, at, isDone }) => (isDone ? [[endUserId, at] as const] : [])),
  )
  const left = new Set(final.deliveries.map(({ body }) => eventOf(body)?.eventId))
  for (const { text, id, endUserId } of requests.flatMap(({ events }) => events)) {
    const at = done.get(endUserId ?? '')
    if (at === undefined) continue
    const isBefore = known
      .requestsOf(text)
      .every((one) => one.answer && one.answer.status < 500 && one.answer.at <= at)
    if (!isBefore) continue
    if (known.stored.has(text)) yield { of: text, problem: 'the log has it after its erasure' }
    if (left.has(id ?? '')) yield { of: text, problem: 'it has a delivery after its erasure' }
  }
}
