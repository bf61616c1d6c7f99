import type { Instant } from '@org/agent-messaging-core'
import {
  holdsRun,
  inputsColumn,
  messageOf,
  WAITING,
  type Asking,
  type HeldRun,
  type MessageRow,
  type MessageStore,
  type RecordedRun,
} from '@org/agent-messaging-core/storage'
import { appendCounts } from './counts.js'
import { writeInputs, writeState, type Changed } from './message-changes.js'
import { messageById } from './message-lists.js'
import { all, one, run, sql, type Operation, type Runner } from './operation.js'
import { keepRun } from './past-runs.js'
import { holdUntil, lockSessionsOf } from './sessions.js'

// Changes by the holder of a lease, besides the outcome of its run.

type Held = { readonly place: number; readonly sessionSeq: number }

const remember = sql<{ readonly sessionSeq: number; readonly sessionState: string }>(
  ({ schema }) => `update ${schema}sessions set state = @sessionState where seq = @sessionSeq`,
)
const stillHeld = sql<{ readonly leases: string }, Held>(
  ({ schema, records, join }) => `
    select held.place, s.seq as "sessionSeq"
    from ${records('leases', { id: 'text', token: 'bigint', place: 'integer' })} held
      ${join} ${schema}messages m on m.id = held.id
      ${join} ${schema}sessions s on s.seq = m.session_seq
      ${join} ${schema}agents a on a.id = s.agent_id
    where s.lease = held.token and s.head_position = m.position and m.state = 'running'`,
)
const extend = sql<{ readonly seqs: readonly number[]; readonly until: Instant }>(
  ({ schema, oneOf }) =>
    `update ${schema}sessions set due_at = @until where ${oneOf('seq', 'seqs', 'bigint')}`,
)

/** Locks the message's session. Returns the message if this token holds its run. */
function* lockHeld({ messageId, token }: HeldRun): Operation<MessageRow | undefined> {
  yield* lockSessionsOf(messageId)
  const row = yield* one(messageById, { messageId })
  if (!row) return undefined
  const { state, lease, position, headPosition } = row
  return holdsRun({ state, lease, isHead: position === headPosition }, token) ? row : undefined
}

/** `MessageStore.ask`. */
export function* askPerson({
  state,
  inputs,
  outgoing,
  ended,
  count,
  ...held
}: Asking): Operation<Changed<RecordedRun>> {
  const row = yield* lockHeld(held)
  if (!row) return { result: { kind: 'lease_lost' } }
  yield* writeState(row.seq, row.attempt, state)
  yield* writeInputs(row.seq, inputs)
  yield* holdUntil(row.sessionSeq, WAITING)
  yield* keepRun(row.id, ended)
  yield* appendCounts(count)
  const message = messageOf({ ...row, inputs: inputsColumn(inputs) }, state)
  return {
    result: { kind: 'recorded', message, deliveries: [], skipped: [], sessionWaits: false },
    event: [outgoing, row],
  }
}

export const heldRuns = ({
  write,
}: Runner): Pick<MessageStore, 'extendLeases' | 'defer' | 'rememberSession'> => ({
  extendLeases: write(function* (leases, until) {
    const rows = leases.map(({ messageId, token }, place) => ({ id: messageId, token, place }))
    yield* lockSessionsOf(...rows.map(({ id }) => id))
    const held = yield* all(stillHeld, { leases: JSON.stringify(rows) })
    yield* run(extend, { seqs: held.map(({ sessionSeq }) => sessionSeq), until })
    const extended = new Set(held.map(({ place }) => place))
    return rows.flatMap(({ id, place }) => (extended.has(place) ? [] : id))
  }),
  defer: write(function* ({ state, ...held }) {
    const row = yield* lockHeld(held)
    if (!row) return 'lease_lost'
    yield* writeState(row.seq, row.attempt, state)
    yield* holdUntil(row.sessionSeq, state.deadlineAt)
    return 'deferred'
  }),
  rememberSession: write(function* ({ sessionState, ...held }) {
    const row = yield* lockHeld(held)
    if (!row) return 'lease_lost'
    yield* run(remember, { sessionSeq: row.sessionSeq, sessionState })
    return 'remembered'
  }),
})
