import type { Instant } from '@org/agent-messaging-core'
import {
  countOfPublish,
  decidePublish,
  isForEndUser,
  type WebhookEvent,
  isAnotherEvent,
  type ErasedEvents,
  type EventPage,
  type EventPurge,
  type EventsAfter,
  type EventsBefore,
  type EventStore,
  type EventTail,
  type ListedEvent,
  type ListenStep,
  type NewestEvents,
  type PrincipalStep,
  type Publication,
  type PublishOutcome,
  type PublishRequest,
  type SessionEvents,
  type StoredEvent,
} from '@org/agent-messaging-core/storage'
import { recorded } from './memory-audit.js'
import { appendCount } from './memory-counts.js'
import {
  eraseLoggedEvents,
  isForgotten,
  keyOfDelivered,
  personIn,
  positionOf,
  purgeLoggedEvents,
  removeEvent,
  withoutDeliveries,
  type Selects,
} from './memory-event-log.js'
import { removeDelivery } from './memory-delivery-rows.js'
import { advanceOrder } from './memory-order.js'
import { takeFrom } from './memory-buckets.js'
import { publish, receiversOf } from './memory-outbox.js'
import { keyOfEvent, ofProject, type Immediate, type Memory } from './memory.js'

/** Erases the events with their deliveries. Returns their number. */
export function erasePublished(
  memory: Memory,
  found: readonly WebhookEvent[],
  now: Instant,
): number {
  const keys = new Set(found.map(keyOfEvent))
  const deliveries = [...memory.deliveries.values()]
    .map(({ delivery }) => delivery)
    .filter((delivery) => keys.has(keyOfDelivered(delivery)))
  for (const { id } of deliveries) removeDelivery(memory, id)
  for (const event of found) removeEvent(memory, event)
  for (const delivery of deliveries) advanceOrder(memory, delivery, now)
  return found.length
}

export class MemoryEvents implements Immediate<EventStore> {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  publish({ projectId, outgoing, request, takes, apiKeyId }: Publication): PublishOutcome {
    const { apiKeys, publishRequests } = this.#memory
    const key = apiKeys.get(apiKeyId ?? '')?.key
    if (apiKeyId !== undefined && (!key || key.revokedAt !== undefined))
      return { kind: 'key_revoked' }
    const all = this.#ofProject(projectId)
    const ids = new Set(outgoing.events.map(({ id }) => id))
    const sameIds = all
      .filter(({ id }) => ids.has(id))
      .map(({ id, published }) => ({ id, fingerprint: published?.fingerprint ?? null }))
    const keyOf = ({ key: id }: PublishRequest) => keyOfEvent({ projectId, id })
    const stored = request && publishRequests.get(keyOf(request))?.fingerprint
    const decided = decidePublish(outgoing.events, {
      sameIds,
      asked: request,
      stored,
      deliveriesOf: (event) => receiversOf(this.#memory, event).length,
      hasAgent: ({ agentId }) =>
        agentId === undefined || !!ofProject(this.#memory.agents.get(agentId), projectId),
    })
    const now = outgoing.events[0]?.createdAt ?? 0
    const keepRequest = () => {
      if (request && stored === undefined)
        publishRequests.set(keyOf(request), { ...request, createdAt: now })
    }
    if (decided.kind === 'replayed') keepRequest()
    if (decided.kind !== 'new') return decided
    const { events } = decided
    const taken = takes && takeFrom(this.#memory, takes, now, events.length)
    if (taken?.kind === 'rate_limited') return taken
    keepRequest()
    appendCount(this.#memory, countOfPublish(events))
    return {
      kind: 'published',
      events: events.length,
      ...taken,
      ...publish(this.#memory, { ...outgoing, events }),
    }
  }

  get(projectId: string, id: string): StoredEvent | undefined {
    const found = this.#ofProject(projectId).find((event) => event.id === id)
    return found && { id, name: found.name, body: found.body, createdAt: found.createdAt }
  }

  eraseOf({ projectId, agentId, sessionId, limit, now, audit }: SessionEvents): number {
    const found = this.#ofProject(projectId)
      .filter(
        (event) =>
          event.published &&
          event.agentId === agentId &&
          (sessionId === undefined || event.sessionId === sessionId),
      )
      .slice(0, limit)
    recorded(this.#memory, audit, found.length > 0)
    return erasePublished(this.#memory, found, now)
  }

  newest({ projectId, before, limit }: NewestEvents): ListedEvent[] {
    const below = before === undefined ? Infinity : Number(before.slice(1))
    const alone = new Set(withoutDeliveries(this.#memory))
    return this.#ofProject(projectId)
      .map((event) => ({ event, position: positionOf(this.#memory, event) }))
      .filter(({ position }) => position < below)
      .sort((a, b) => b.position - a.position)
      .slice(0, limit)
      .map(({ event, position }) => ({
        id: event.id,
        name: event.name,
        createdAt: event.createdAt,
        hasDeliveries: !alone.has(event),
        place: `p${position}`,
      }))
  }

  #ofProject(projectId: string): WebhookEvent[] {
    return [...this.#memory.events.values()].filter((event) => event.projectId === projectId)
  }

  list({ projectId, after, mark, limit }: EventsAfter): EventPage | 'expired' {
    const floor = this.#memory.eventFloors.get(projectId) ?? 0
    const start = after ?? floor
    if (start < floor || start > this.#memory.lastEventPosition) return 'expired'
    const [first] = this.#after({ projectId, after: start - 1 })
    if (isAnotherEvent(mark, first?.position === start ? first.id : undefined)) return 'expired'
    const events = this.#after({ projectId, after: start }).slice(0, limit)
    return { events, next: events.at(-1)?.position ?? start }
  }

  findNew(tails: readonly EventTail[]): string[] {
    return tails.filter((tail) => this.#after(tail).length > 0).map(({ projectId }) => projectId)
  }

  positionAt({ projectId, createdBefore }: EventsBefore): number {
    const older = this.#after({ projectId, after: 0 }).filter(
      ({ id }) =>
        (this.#memory.events.get(keyOfEvent({ projectId, id }))?.createdAt ?? 0) < createdBefore,
    )
    return older.at(-1)?.position ?? this.#memory.eventFloors.get(projectId) ?? 0
  }

  listen({ cursor, ...step }: ListenStep): { cursor: string } | 'held' | 'new' {
    const { listeners } = this.#memory
    const key = JSON.stringify([step.projectId, step.name])
    const known = listeners.get(key)
    const isOwn = known?.owner === step.owner
    if (known && !isOwn && known.until > step.now) return 'held'
    const kept = known && !isOwn ? known.cursor : (cursor ?? known?.cursor)
    if (kept === undefined) return 'new'
    listeners.set(key, { ...step, cursor: kept })
    return { cursor: kept }
  }

  purge({ createdBefore, idsBefore = createdBefore, limit }: EventPurge): number {
    const selects: Selects = (event) =>
      event.createdAt < createdBefore && isForgotten(event, idsBefore)
    const { publishRequests } = this.#memory
    const forgotten = [...publishRequests]
      .filter(([, { createdAt }]) => createdAt < idsBefore)
      .slice(0, limit)
    for (const [key] of forgotten) publishRequests.delete(key)
    return purgeLoggedEvents(this.#memory, selects, limit) + forgotten.length
  }

  erasePrincipal({ projectId, endUserId, countOnly, audit }: PrincipalStep): ErasedEvents {
    const selects: Selects = (event) =>
      event.projectId === projectId && isForEndUser(personIn(event), endUserId)
    if (countOnly) return { events: withoutDeliveries(this.#memory).filter(selects).length }
    const events = eraseLoggedEvents(this.#memory, selects)
    recorded(this.#memory, audit, events > 0)
    return { events }
  }

  #after({ projectId, after }: EventTail) {
    return [...this.#memory.events.values()]
      .filter((event) => event.projectId === projectId)
      .map((event) => ({
        position: positionOf(this.#memory, event),
        id: event.id,
        name: event.name,
        body: event.body,
      }))
      .filter(({ position }) => position > after)
      .sort((a, b) => a.position - b.position)
  }
}
