import type { Instant } from '@org/agent-messaging-core'
import {
  endUserMark,
  isForEndUser,
  type DeliveryStore,
  type OfPerson,
  type PrincipalStep,
  type Purge,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import {
  advanceOrders,
  claimList,
  openList,
  releaseSending,
  type OpenDelivery,
  type Sending,
} from './delivery-ends.js'
import { atMost, type Dialect } from './dialect.js'
import {
  lockEvents,
  lockLogs,
  raiseFloors,
  FORGOTTEN,
  type DeletedEvent,
  type Marked,
} from './event-removals.js'
import { all, one, run, sql, type Operation, type Runner } from './operation.js'
import { leaveDeleted } from './redelivery.js'

type Seq = { readonly seq: number }
type Seqs = { readonly seqs: readonly number[] }
type Before = { readonly eventsBefore: Instant; readonly idsBefore: Instant }
export type RemovedDelivery = Seq & {
  readonly projectId: string
  readonly eventSeq: number
  readonly recoverySeq: number | null
}
type PrincipalDelivery = RemovedDelivery & OpenDelivery & Sending & OfPerson

/** The columns of a delivery `d` that is about to be deleted. */
export const removedList = `
  d.seq, d.project_id as "projectId", d.event_seq as "eventSeq", d.recovery_seq as "recoverySeq"`
export const finishedDeliveries = sql<Purge, RemovedDelivery>(
  ({ schema, lock }) => `
    select ${removedList} from ${schema}deliveries d where d.finished_at < @finishedBefore
    order by d.finished_at ${atMost('@limit')} ${lock('update skip locked')}`,
)
const removeAttempts = sql<Seqs>(
  ({ schema, oneOf }) =>
    `delete from ${schema}attempts where ${oneOf('delivery_seq', 'seqs', 'bigint')}`,
)
const remove = sql<Seqs>(
  ({ schema, oneOf }) => `delete from ${schema}deliveries where ${oneOf('seq', 'seqs', 'bigint')}`,
)
const without = ({ schema, oneOf }: Dialect): string => `
  ${oneOf('seq', 'seqs', 'bigint')} and not exists (
    select 1 from ${schema}deliveries d where d.event_seq = ${schema}events.seq)`
const removeEvents = sql<Seqs & Before, DeletedEvent>(
  (d) => `
    delete from ${d.schema}events
    where ${without(d)} and created_at < @eventsBefore and ${FORGOTTEN}
    returning project_id as "projectId", ${d.position} as position`,
)
const keepEvents = sql<Seqs>(
  (d) => `update ${d.schema}events set has_deliveries = false where ${without(d)}`,
)
const lastRead = sql<PrincipalStep, Seq>(
  ({ schema }) => `
    select seq from ${schema}deliveries where project_id = @projectId and seq > @after
    order by seq limit 1 offset @limit - 1`,
)
export const principalDeliveries = sql<Marked, PrincipalDelivery>(
  (d) => `
    select ${openList}, ${claimList(d)}, ${removedList}, e.name, e.body,
      e.end_user_id as "endUserId"
    from ${d.schema}deliveries d join ${d.schema}events e on e.seq = d.event_seq
    where d.project_id = @projectId and d.seq > @after and d.seq <= @last
      and (${d.contains('e.body', 'mark')} or e.end_user_id = @endUserId)`,
)
/** Locks in the order in which the record of attempts locks. */
const lockedDeliveries = sql<Marked, PrincipalDelivery>(
  (d) => `${principalDeliveries(d)} ${d.lock('update of d', 'd.seq desc')}`,
)

/**
 * Deletes locked deliveries with their attempts. Deletes an event with the last of its deliveries,
 * if the event was created before `eventsBefore`. Returns the deleted events. Of two transactions
 * that delete the last deliveries of an event, the second one deletes the event.
 */
export function* removeDeliveries(
  deliveries: readonly RemovedDelivery[],
  eventsBefore: Instant,
  idsBefore: Instant = eventsBefore,
): Operation<readonly DeletedEvent[]> {
  if (deliveries.length === 0) return []
  const given = { seqs: deliveries.map(({ seq }) => seq) }
  const events = { seqs: deliveries.map(({ eventSeq }) => eventSeq) }
  yield* lockLogs(deliveries)
  yield* lockEvents(events.seqs)
  if (deliveries.some(({ recoverySeq }) => recoverySeq !== null)) yield* run(leaveDeleted, given)
  yield* run(removeAttempts, given)
  yield* run(remove, given)
  const deleted = yield* all(removeEvents, { ...events, eventsBefore, idsBefore })
  yield* run(keepEvents, events)
  return deleted
}

export const deliveryRemovals = ({
  write,
}: Runner): Pick<DeliveryStore, 'purge' | 'erasePrincipal'> => ({
  purge: write(function* ({ eventsBefore = Number.MAX_SAFE_INTEGER, idsBefore, ...purge }) {
    const rows = yield* all(finishedDeliveries, purge)
    yield* raiseFloors(yield* removeDeliveries(rows, eventsBefore, idsBefore))
    return rows.length
  }),
  erasePrincipal: write(function* (step) {
    const next = (yield* one(lastRead, step))?.seq
    const bounds = { mark: endUserMark(step.endUserId), last: next ?? Number.MAX_SAFE_INTEGER }
    const statement = step.countOnly ? principalDeliveries : lockedDeliveries
    const rows = yield* all(statement, { ...step, ...bounds })
    const erased = rows.filter((event) => isForEndUser(event, step.endUserId))
    if (!step.countOnly && erased.length > 0) {
      yield* releaseSending(erased, step.now)
      yield* removeDeliveries(erased, Number.MAX_SAFE_INTEGER)
      yield* advanceOrders(erased, step.now)
      yield* record(step.audit)
    }
    return { deliveries: erased.length, next }
  }),
})
