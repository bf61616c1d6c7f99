import {
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
  type ListenStep,
  type PrincipalStep,
} from '@org/agent-messaging-core/storage'
import { recorded } from './memory-audit.js'
import type { Immediate, Memory } from './memory.js'

/** Stores the event at the next position of the log. */
export function addToLog(memory: Memory, event: WebhookEvent): void {
  memory.events.set(event.id, event)
  if (!memory.eventPositions.has(event.id))
    memory.eventPositions.set(event.id, ++memory.lastEventPosition)
}

type Selects = (event: WebhookEvent) => boolean

/** Deletes selected events that have no deliveries. Returns their number. */
export function eraseLoggedEvents(memory: Memory, selects: Selects): number {
  const removed = withoutDeliveries(memory).filter(selects)
  for (const event of removed) remove(memory, event)
  return removed.length
}

/** Does the same. Positions before a deleted event expire. */
export function purgeLoggedEvents(memory: Memory, selects: Selects, limit = Infinity): number {
  const purged = withoutDeliveries(memory).filter(selects).slice(0, limit)
  for (const event of purged) {
    const { projectId } = event
    const floor = memory.eventFloors.get(projectId) ?? 0
    memory.eventFloors.set(projectId, Math.max(floor, positionOf(memory, event)))
    remove(memory, event)
  }
  return purged.length
}

/** Oldest first. */
function withoutDeliveries({ events, deliveries }: Memory): WebhookEvent[] {
  const sent = new Set([...deliveries.values()].map(({ delivery }) => delivery.eventId))
  return [...events.values()]
    .filter(({ id }) => !sent.has(id))
    .sort((a, b) => a.createdAt - b.createdAt)
}

function remove(memory: Memory, { id }: WebhookEvent): void {
  memory.events.delete(id)
  memory.eventPositions.delete(id)
}

const positionOf = (memory: Memory, { id }: WebhookEvent): number =>
  memory.eventPositions.get(id) ?? 0

export class MemoryEvents implements Immediate<EventStore> {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
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
      ({ id }) => (this.#memory.events.get(id)?.createdAt ?? 0) < createdBefore,
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

  purge({ createdBefore, limit }: EventPurge): number {
    return purgeLoggedEvents(this.#memory, ({ createdAt }) => createdAt < createdBefore, limit)
  }

  erasePrincipal({ projectId, endUserId, countOnly, audit }: PrincipalStep): ErasedEvents {
    const selects: Selects = (event) =>
      event.projectId === projectId && isForEndUser(event.body, endUserId)
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
