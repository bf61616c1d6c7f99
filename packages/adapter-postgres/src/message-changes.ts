import {
  inputsColumn,
  isFinal,
  isRetryable,
  isWaitingFor,
  messageOf,
  toMessage,
  type AgentState,
  type Cancellation,
  type Cancelled,
  type InputChange,
  type InputChanged,
  type Message,
  type MetadataChange,
  type Retried,
  type Retry,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { fanOut } from './fan-out.js'
import { messageByRef, writeInputs, writeState } from './message-row.js'
import { advance, enqueue, holdUntil, skip, lockSessionsOf } from './sessions.js'
import { sql } from './sql.js'

// Changes of a message by a caller, whether or not a process runs the message. All run within a
// transaction.

type Agent = { readonly projectId: string; readonly agentId: string }

const agentSql = sql<Agent, { readonly state: AgentState['kind']; readonly maxQueued: number }>(`
  select state, max_queued as "maxQueued" from agent_messaging.agents
  where id = @agentId and project_id = @projectId for key share`)

/** Keeps the agent from being deleted before the commit. Other changes of the agent can happen. */
const keepAgent = (db: Queries, { agentId, projectId }: Agent) =>
  db.one(agentSql, { agentId, projectId })

const moveSql = sql<{ readonly seq: number; readonly position: number }>(
  'update agent_messaging.messages set position = @position where seq = @seq',
)

/** `MessageStore.cancel`. */
export async function cancel(
  db: Queries,
  { state, outgoing, audit: _, ...ref }: Cancellation,
): Promise<Cancelled | undefined> {
  await lockSessionsOf(db, ref.messageId)
  const row = await db.one(messageByRef, ref)
  if (!row) return undefined
  const message = toMessage(row)
  if (isFinal(message.state)) return { kind: 'already_final', message }
  await writeState(db, row.seq, row.attempt, state)
  const isHead = row.position === row.headPosition
  const sessionWaits = await (isHead
    ? advance(db, row.sessionSeq, state.cancelledAt)
    : skip(db, row.sessionSeq))
  return {
    kind: 'cancelled',
    message: { ...message, state },
    ...(await fanOut(db, outgoing, row)),
    sessionWaits,
  }
}

/** `MessageStore.retry`. */
export async function retry(
  db: Queries,
  { now, audit: _, ...ref }: Retry,
): Promise<Retried | undefined> {
  const agent = await keepAgent(db, ref)
  await lockSessionsOf(db, ref.messageId)
  const row = await db.one(messageByRef, ref)
  if (!row) return undefined
  const message = toMessage(row)
  if (!isRetryable(message.state)) return { kind: 'not_retryable' }
  if (agent?.state !== 'running') return { kind: 'agent_not_running' }
  const { id: messageId, agentId, sessionId, createdAt } = message
  const place = await enqueue(db, {
    agentId,
    sessionId,
    messageId,
    createdAt,
    now,
    claimUntil: null,
    maxQueued: agent.maxQueued,
  })
  if (!place) return { kind: 'session_full' }
  const state = { kind: 'queued', notBefore: now } as const
  await db.run(moveSql, { seq: row.seq, position: place.position })
  await writeState(db, row.seq, 0, state)
  await writeInputs(db, row.seq, undefined)
  return { kind: 'retried', message: messageOf({ ...row, inputs: null }, state, 0) }
}

const metadataSql = sql<{ readonly seq: number; readonly metadata: string }>(
  'update agent_messaging.messages set metadata = @metadata where seq = @seq',
)

/** `MessageStore.setMetadata`. */
export async function setMetadata(
  db: Queries,
  { metadata, ...ref }: MetadataChange,
): Promise<Message | undefined> {
  await lockSessionsOf(db, ref.messageId)
  const row = await db.one(messageByRef, ref)
  if (!row) return undefined
  await db.run(metadataSql, { seq: row.seq, metadata: JSON.stringify(metadata) })
  return { ...toMessage(row), metadata }
}

/** `MessageStore.changeInput`. */
export async function changeInput(
  db: Queries,
  change: InputChange,
): Promise<InputChanged | undefined> {
  const { messageId, agentId, projectId, state, inputs, now, outgoing } = change
  await lockSessionsOf(db, messageId)
  const row = await db.one(messageByRef, { messageId, agentId, projectId })
  if (!row) return undefined
  const message = toMessage(row)
  if (!isWaitingFor(message, change)) return { kind: 'not_waiting', message }
  await writeState(db, row.seq, row.attempt, state)
  await writeInputs(db, row.seq, inputs)
  if (state.kind === 'queued') await holdUntil(db, row.sessionSeq, state.notBefore)
  const sessionWaits =
    state.kind === 'queued' || (state.kind === 'failed' && (await advance(db, row.sessionSeq, now)))
  return {
    kind: 'changed',
    message: messageOf({ ...row, inputs: inputsColumn(inputs) }, state),
    ...(await fanOut(db, outgoing, row)),
    sessionWaits,
  }
}
