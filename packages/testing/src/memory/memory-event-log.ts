import type { Instant, WebhookDelivery } from '@org/agent-messaging-core'
import type { OfPerson, WebhookEvent } from '@org/agent-messaging-core/storage'
import { keyOfEvent, type Memory } from './memory.js'

/** Stores the event at the next position of the log. */
export function addToLog(memory: Memory, event: WebhookEvent): void {
  const key = keyOfEvent(event)
  memory.events.set(key, event)
  if (!memory.eventPositions.has(key)) memory.eventPositions.set(key, ++memory.lastEventPosition)
}

export type Selects = (event: WebhookEvent) => boolean

/** False if the id of a published event is remembered. */
export const isForgotten = ({ published, createdAt }: WebhookEvent, idsBefore: Instant): boolean =>
  published?.fingerprint === undefined || createdAt < idsBefore

export const keyOfDelivered = ({ projectId, eventId }: WebhookDelivery): string =>
  keyOfEvent({ projectId, id: eventId })

export const personIn = (event: WebhookEvent): OfPerson => ({
  ...event,
  endUserId: event.published?.endUserId,
})

/** Deletes selected events that have no deliveries. Returns their number. */
export function eraseLoggedEvents(memory: Memory, selects: Selects): number {
  const removed = withoutDeliveries(memory).filter(selects)
  for (const event of removed) removeEvent(memory, event)
  return removed.length
}

/** Does the same. Positions before a deleted event expire. */
export function purgeLoggedEvents(memory: Memory, selects: Selects, limit = Infinity): number {
  const purged = withoutDeliveries(memory).filter(selects).slice(0, limit)
  for (const event of purged) {
    const { projectId } = event
    const floor = memory.eventFloors.get(projectId) ?? 0
    memory.eventFloors.set(projectId, Math.max(floor, positionOf(memory, event)))
    removeEvent(memory, event)
  }
  return purged.length
}

/** Oldest first. */
export function withoutDeliveries({ events, deliveries }: Memory): WebhookEvent[] {
  const sent = new Set([...deliveries.values()].map(({ delivery }) => keyOfDelivered(delivery)))
  return [...events.values()]
    .filter((event) => !sent.has(keyOfEvent(event)))
    .sort((a, b) => a.createdAt - b.createdAt)
}

export function removeEvent(memory: Memory, event: WebhookEvent): void {
  memory.events.delete(keyOfEvent(event))
  memory.eventPositions.delete(keyOfEvent(event))
}

export const positionOf = (memory: Memory, event: WebhookEvent): number =>
  memory.eventPositions.get(keyOfEvent(event)) ?? 0
