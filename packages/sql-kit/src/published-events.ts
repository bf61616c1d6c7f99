import type { EventStore, SessionEvents, StoredEvent } from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import {
  advanceOrders,
  claimList,
  openList,
  releaseSending,
  type OpenDelivery,
  type Sending,
} from './delivery-ends.js'
import { removedList, removeDeliveries, type RemovedDelivery } from './delivery-removals.js'
import { atMost } from './dialect.js'
import { lockEvents, removeEvents } from './event-removals.js'
import { all, one, sql, type Operation, type Runner } from './operation.js'

type Seqs = { readonly seqs: readonly number[] }
type Ref = { readonly projectId: string; readonly id: string }

const byId = sql<Ref, StoredEvent>(
  ({ schema }) => `
    select id, name, body, created_at as "createdAt" from ${schema}events
    where id = @id and project_id = @projectId`,
)
const eventsOf = (which: string) =>
  sql<SessionEvents, { readonly seq: number }>(
    ({ schema, plain }) => `
      select seq from ${schema}events
      where agent_id = @agentId ${which} and ${plain('project_id')} = @projectId
      ${atMost('@limit')}`,
  )
export const eventsOfAgent = eventsOf('')
export const eventsOfSession = eventsOf('and session_id = @sessionId')
/** Locks in the order in which the record of attempts locks. */
const deliveriesOf = sql<Seqs, RemovedDelivery & OpenDelivery & Sending>(
  (d) => `
    select ${openList}, ${claimList(d)}, ${removedList} from ${d.schema}deliveries d
    where ${d.oneOf('d.event_seq', 'seqs', 'bigint')} ${d.lock('update of d', 'd.seq desc')}`,
)

/** `EventStore.eraseOf`. */
function* eraseOf(step: SessionEvents): Operation<number> {
  const statement = step.sessionId === undefined ? eventsOfAgent : eventsOfSession
  const found = yield* all(statement, step)
  const seqs = found.map(({ seq }) => seq)
  if (seqs.length === 0) return 0
  const deliveries = yield* all(deliveriesOf, { seqs })
  yield* releaseSending(deliveries, step.now)
  yield* removeDeliveries(deliveries, Number.MAX_SAFE_INTEGER)
  yield* advanceOrders(deliveries, step.now)
  yield* lockEvents(seqs)
  yield* removeEvents(seqs)
  yield* record(step.audit)
  return seqs.length
}

export const publishedEvents = ({ read, write }: Runner): Pick<EventStore, 'get' | 'eraseOf'> => ({
  get: read(function* (projectId, id) {
    return yield* one(byId, { projectId, id })
  }),
  eraseOf: write(eraseOf),
})
