import type { Purge } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { renewLastSql } from './session-rows.js'
import { atMost } from './statements.js'

type RemovedDelivery = { readonly seq: number; readonly eventSeq: number }
type FinishedMessage = { readonly seq: number; readonly sessionSeq: number }

const GIVEN = '(select value from json_each(?))'

/** `DeliveryStore.purge`, in a transaction. */
export function deliveryPurge(db: Database): (purge: Purge) => number {
  const finished = db.prepare<[Purge], RemovedDelivery>(
    `select seq, event_seq as eventSeq from deliveries where finished_at < @finishedBefore order by finished_at ${atMost('@limit')}`,
  )
  const remove = deliveryRemoval(db)
  return (purge) => {
    const rows = finished.all(purge)
    remove(rows)
    return rows.length
  }
}

/** Deletes deliveries with their attempts. Deletes an event with the last of its deliveries. */
export function deliveryRemoval(db: Database): (deliveries: readonly RemovedDelivery[]) => void {
  const deleteAttempts = db.prepare<[string]>(`delete from attempts where delivery_seq in ${GIVEN}`)
  const deleteDeliveries = db.prepare<[string]>(`delete from deliveries where seq in ${GIVEN}`)
  const deleteEvents = db.prepare<[string]>(
    `delete from events where seq in ${GIVEN} and not exists (select 1 from deliveries d where d.event_seq = events.seq)`,
  )
  return (deliveries) => {
    const seqs = JSON.stringify(deliveries.map(({ seq }) => seq))
    deleteAttempts.run(seqs)
    deleteDeliveries.run(seqs)
    deleteEvents.run(JSON.stringify(deliveries.map(({ eventSeq }) => eventSeq)))
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
