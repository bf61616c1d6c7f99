import {
  holdsRun,
  inputsColumn,
  messageOf,
  WAITING,
  type Asking,
  type Deferral,
  type HeldRun,
  type Instant,
  type MessageRow,
  type RecordedRun,
  type SessionMemory,
} from '@org/agent-messaging-core/storage'
import { holdUntil, lockSessionsOf, writeInputs, writeState } from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/database.js'
import { fanOut } from '../events/fan-out.js'
import { messageById } from './message-row.js'
import { perform } from '../database/operations.js'
import { remember } from './sessions.js'
import { sql } from '../database/sql.js'
import { addUsage } from './usage-store.js'

// Changes by the holder of a lease, besides the outcome of its run. All run within a transaction.

type Leases = {
  readonly messageIds: readonly string[]
  readonly tokens: readonly number[]
  readonly until: Instant
}

/** Locks the message's session. Returns the message if this token holds its run. */
async function lockHeld(
  db: Queries,
  { messageId, token }: HeldRun,
): Promise<MessageRow | undefined> {
  await perform(db, lockSessionsOf, messageId)
  const row = await db.one(messageById, { messageId })
  if (!row) return undefined
  const { state, lease, position, headPosition } = row
  return holdsRun({ state, lease, isHead: position === headPosition }, token) ? row : undefined
}

const extendSql = sql<Leases, { readonly place: number }>(`
  update agent_messaging.sessions s set due_at = @until
  from unnest(@messageIds::text[], @tokens::bigint[])
      with ordinality as held (message_id, token, place),
    agent_messaging.messages m, agent_messaging.agents a
  where m.id = held.message_id and s.seq = m.session_seq and a.id = s.agent_id
    and s.lease = held.token and s.head_position = m.position and m.state = 'running'
  returning held.place`)

/** `MessageStore.extendLeases`. */
export async function extendLeases(
  db: Queries,
  leases: readonly HeldRun[],
  until: Instant,
): Promise<string[]> {
  const messageIds = leases.map(({ messageId }) => messageId)
  await perform(db, lockSessionsOf, ...messageIds)
  const extended = await db.all(extendSql, {
    messageIds,
    tokens: leases.map(({ token }) => token),
    until,
  })
  const places = new Set(extended.map(({ place }) => place))
  return messageIds.filter((_, at) => !places.has(at + 1))
}

/** `MessageStore.defer`. */
export async function defer(
  db: Queries,
  { state, ...held }: Deferral,
): Promise<'deferred' | 'lease_lost'> {
  const row = await lockHeld(db, held)
  if (!row) return 'lease_lost'
  await perform(db, writeState, row.seq, row.attempt, state)
  await perform(db, holdUntil, row.sessionSeq, state.deadlineAt)
  return 'deferred'
}

/** `MessageStore.rememberSession`. */
export async function rememberSession(
  db: Queries,
  { sessionState, ...held }: SessionMemory,
): Promise<'remembered' | 'lease_lost'> {
  const row = await lockHeld(db, held)
  if (!row) return 'lease_lost'
  await remember(db, row.sessionSeq, sessionState)
  return 'remembered'
}

/** `MessageStore.ask`. */
export async function ask(
  db: Queries,
  { state, inputs, outgoing, usage, ...held }: Asking,
): Promise<RecordedRun> {
  const row = await lockHeld(db, held)
  if (!row) return { kind: 'lease_lost' }
  await perform(db, writeState, row.seq, row.attempt, state)
  await perform(db, writeInputs, row.seq, inputs)
  await perform(db, holdUntil, row.sessionSeq, WAITING)
  const claims = await fanOut(db, outgoing, row)
  await addUsage(db, { usage })
  return {
    kind: 'recorded',
    message: messageOf({ ...row, inputs: inputsColumn(inputs) }, state),
    ...claims,
    sessionWaits: false,
  }
}
