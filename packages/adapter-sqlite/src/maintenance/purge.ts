import type { DeliveryPurge, Instant, Purge } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { eventFloors, type DeletedEvent } from '../events/event-store.js'
import { renewLastSql } from '../messages/sessions.js'
import { atMost } from '../database/statements.js'

type RemovedDelivery = { readonly seq: number; readonly eventSeq: number }
type FinishedMessage = { readonly seq: number; readonly sessionSeq: number }

const GIVEN = '(select value from json_each(?))'

/** `DeliveryStore.purge`, in a transaction. */
export function deliveryPurge(db: Database): (purge: DeliveryPurge) => number {
  const finished = db.prepare<[Purge], RemovedDelivery>(
    `select seq, event_seq as eventSeq from deliveries where finished_at < @finishedBefore order by finished_at ${atMost('@limit')}`,
  )
  const remove = deliveryRemoval(db)
  const raise = eventFloors(db)
  return ({ eventsBefore = Number.MAX_SAFE_INTEGER, ...purge }) => {
    const rows = finished.all(purge)
    raise(remove(rows, eventsBefore))
    return rows.length
  }
}

type Removal = (
  deliveries: readonly RemovedDelivery[],
  eventsBefore: Instant,
) => readonly DeletedEvent[]

/**
 * Deletes deliveries with their attempts. Deletes an event with the last of its deliveries, if the
 * event was created before `eventsBefore`. Returns the deleted events.
 */
export function deliveryRemoval(db: Database): Removal {
  const deleteAttempts = db.prepare<[string]>(`delete from attempts where delivery_seq in ${GIVEN}`)
  const deleteDeliveries = db.prepare<[string]>(`delete from deliveries where seq in ${GIVEN}`)
  const without = `seq in ${GIVEN} and not exists (select 1 from deliveries d where d.event_seq = events.seq)`
  const deleteEvents = db.prepare<[string, Instant], DeletedEvent>(
    `delete from events where ${without} and created_at < ? returning seq, project_id as projectId`,
  )
  const keepEvents = db.prepare<[string]>(`update events set has_deliveries = 0 where ${without}`)
  return (deliveries, eventsBefore) => {
    const seqs = JSON.stringify(deliveries.map(({ seq }) => seq))
    deleteAttempts.run(seqs)
    deleteDeliveries.run(seqs)
    const events = JSON.stringify(deliveries.map(({ eventSeq }) => eventSeq))
    const deleted = deleteEvents.all(events, eventsBefore)
    keepEvents.run(events)
    return deleted
  }
}

/** `MessageStore.purge`, in a transaction. */
export function messagePurge(db: Database): (purge: Purge) => number {
  const finished = db.prepare<[Purge], FinishedMessage>(
    `select seq, session_seq as sessionSeq from messages where finished_at < @finishedBefore order by finished_at ${atMost('@limit')}`,
  )
  const deleteMessages = db.prepare<[string]>(`delete from messages where seq in ${GIVEN}`)
  const deleteSessions = db.prepare<[string]>(
    `delete from sessions where seq in ${GIVEN} and not exists (select 1 from messages m where m.session_seq = sessions.seq)`,
  )
  const renewLast = db.prepare<[string]>(renewLastSql(`in ${GIVEN}`))
  return (purge) => {
    const rows = finished.all(purge)
    const sessions = JSON.stringify(rows.map(({ sessionSeq }) => sessionSeq))
    deleteMessages.run(JSON.stringify(rows.map(({ seq }) => seq)))
    deleteSessions.run(sessions)
    renewLast.run(sessions)
    return rows.length
  }
}
